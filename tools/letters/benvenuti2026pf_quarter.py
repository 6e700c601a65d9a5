"""What the two printed errors of the exponential mechanism imply at epsilon = 3."""

import numpy as np
from scipy.optimize import linprog

lengths = np.arange(1, 15)
printed = (
    (0.5, 12.7, 0.05),
    (5, 0.62, 0.005),
)  # epsilon, error, half of its last digit


def largest_reduction(b, epsilon=3):
    """Return the largest share 1 / (1 + Z) that counts N(1) to N(14) of words allow."""
    rows = []
    limits = []
    for at, error, half in printed:
        weights = np.exp(-at * lengths / (2 * b))
        rows += [weights * (lengths - error - half), weights * (error - half - lengths)]
        limits += [error + half, half - error]
    found = linprog(np.exp(-epsilon * lengths / (2 * b)), rows, limits)
    return 1 / (2 + found.fun) if found.status == 0 else None


print("expected errors 12.7 at epsilon 0.5 and 0.62 at 5, n = 14: at epsilon 3")
for b in range(1, 8):
    share = largest_reduction(b)
    found = f"at most {share:.0%}" if share else "no words have these errors"
    print(f"b = {b}: {found}")
    assert (share is not None) == (b < 6) and (b > 1 or share < 0.19)
print("printed: at least 25 %")
