"""Chains that agree: six histograms of two people, two temperatures, and copies."""

import numpy as np

z = np.array([[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]])
objective = -((z - [1, 0, 1]) ** 2).sum(axis=1)  # x = (1, 0, 1), W the identity


def levels(ratio):
    """Return the probabilities of the objectives 0, -2 and -6 in the limit."""
    limit = ratio ** (-objective / 2)
    return np.array([limit[objective == c].sum() for c in (0, -2, -6)]) / limit.sum()


def given(ratio, chains):
    """Return the probability of the optimum, given that independent chains agree."""
    return levels(ratio)[0] ** chains / (levels(ratio) ** chains).sum()


print("x = (1, 0, 1), probability of the optimum in the limit")
for ratio in (1 / 2, 1 / 16):
    one, two, three = (given(ratio, chains) for chains in (1, 2, 3))
    print(f"exp(-2 / t) = 1/{1 / ratio:.0f}, t = {-2 / np.log(ratio):.2f}: {one:.2f},")
    print(f"  given that 2 independent chains agree {two:.2f}, that 3 do {three:.2f}")
copies = levels(0.5)[0] / levels(0.5).sum()  # they agree with probability 1
print(f"copies of one chain at 1/2: {levels(0.5)[0]:.2f}, if they agree {copies:.2f}")
assert given(1 / 2, 3) < given(1 / 2, 2) < given(1 / 2, 1)
assert given(1 / 16, 1) < given(1 / 16, 2) < given(1 / 16, 3)
