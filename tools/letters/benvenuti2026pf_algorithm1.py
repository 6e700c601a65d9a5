"""Algorithm 1, line 7, on Figure 1: words at distance 2 from abc over a, b and c."""

from math import comb

n, m, errors = 3, 3, 2


def ways(written, wrong, letters):
    """Return V: from the state, each further error multiplies the ways by `letters`."""
    return comb(n - written, errors - wrong) * letters ** (errors - wrong)


sums = []
for reading, letters in (("pairs of state and letter", m - 1), ("distinct states", 1)):
    total = ways(0, 0, letters)
    right = ways(1, 0, letters)
    wrong = ways(1, 1, letters)
    probabilities = [right / total] + [wrong / total] * (m - 1)
    sums += [sum(probabilities)]
    listed = ", ".join(f"{p:.3f}" for p in probabilities)
    print(f"V sums over {reading}: a, b, c with {listed}, sum {sums[-1]:.3f}")
assert abs(sums[0] - 1) < 1e-9 and sums[1] > 1.5
