"""Agreement of chains: six histograms of two individuals, at the temperature with exp(-2 / t) = 1 / 2."""

import numpy as np

z = np.array([[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]])
objective = -((z - [1, 0, 1]) ** 2).sum(axis=1)
limit = 0.5 ** (-objective / 2)
limit /= limit.sum()
levels = np.array([limit[objective == c].sum() for c in (0, -2, -6)])
print(f"objective 0, -2, -6 with probability {levels.round(2)}")
for p in (1, 2, 3):
    print(f"at the optimum, given that {p} agree: {levels[0] ** p / (levels**p).sum():.3f}")
assert levels[0] ** 2 / (levels**2).sum() < levels[0]
