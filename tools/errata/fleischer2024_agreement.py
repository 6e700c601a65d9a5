"""Agreement of chains in their limit: six histograms of two individuals, at exp(-2 / t) of 1 / 2 and of 1 / 16."""

import numpy as np

z = np.array([[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]])
objective = -((z - [1, 0, 1]) ** 2).sum(axis=1)


def levels(ratio):
    """Return the probabilities of the objectives 0, -2 and -6 in the limit."""
    limit = ratio ** (-objective / 2)
    return np.array([limit[objective == c].sum() for c in (0, -2, -6)]) / limit.sum()


def given(ratio, p):
    """Return the chance to be at the optimum, given that p independent chains have one objective."""
    return levels(ratio)[0] ** p / (levels(ratio) ** p).sum()


print(f"objective 0, -2, -6 with probability {levels(0.5).round(2)}")
for p in (1, 2, 3):
    print(f"at the optimum, given that {p} agree: {given(0.5, p):.3f}")
print("cooler, exp(-2 / t) = 1 / 16:", ", ".join(f"{given(1 / 16, p):.3f}" for p in (1, 2, 3)))
assert given(0.5, 2) < given(0.5, 1) and given(1 / 16, 1) < given(1 / 16, 2) < given(1 / 16, 3)
