"""For equal weights s / t is enough: the exact epsilon of the limit on small spaces."""

from itertools import permutations, product

import numpy as np


def exact_and_promised(N, n, t):
    """Return the exact epsilon of pi, and 2 s / t, over all pairs of neighbours."""
    several = product(range(N + 1), repeat=n - 1)
    z = np.array([(*a, N - sum(a)) for a in several if sum(a) <= N])
    c = -((z[:, None] - z[None]) ** 2).sum(axis=2)  # row x, column z
    logs = c / t - np.logaddexp.reduce(c / t, axis=1, keepdims=True)
    number = {tuple(a): i for i, a in enumerate(z.tolist())}
    exact = s = 0.0
    for i, j in permutations(range(n), 2):
        for x in z[z[:, i] > 0]:
            y = x - np.eye(n, dtype=int)[i] + np.eye(n, dtype=int)[j]
            a = number[tuple(x)]
            b = number[tuple(y)]
            exact = max(exact, (logs[a] - logs[b]).max())
            s = max(s, np.abs(c[a] - c[b]).max())
    return exact, 2 * s / t


shares = []
for N, n, t in product((1, 2, 5, 10), (2, 3, 4), (0.5, 2.0, 10.0, 50.0)):
    exact, promised = exact_and_promised(N, n, t)
    shares += [exact / promised]
print(f"1 to 10 people, 2 to 4 bins, W the identity, {len(shares)} cases:")
print(f"the exact epsilon is at most {max(shares):.3f} times 2 s / t")
assert max(shares) < 0.5 + 1e-9
