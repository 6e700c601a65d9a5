"""Theorem 1, the step to transitions that are drawn anew: a model where it fails."""

import numpy as np

beta = 0.1
reward = np.array([0.0, 1.0, 0.0, 0.5])  # per stage: enter, boom, bust, bond
released = np.array([3, 2, 2, 3])  # where each state leads, as released
lucky = np.array([1, 1, 2, 3])  # enter and boom lead to boom; together, or neither
for stages in (2, 3, 20):
    bound = np.zeros(4)
    wrong = np.zeros(4)
    right = np.zeros(4)
    for _ in range(stages):
        # the best vector of D at r = 0: weight 1 - beta as released, beta anywhere
        bound = reward + (1 - beta) * bound[released] + beta * bound.max()
        right = reward + right[released]
        wrong = reward + wrong[lucky]
    mean = (1 - beta) * right[0] + beta * wrong[0]
    print(f"beta = {beta}, {stages} stages: mean value {mean:.3f}", end=", ")
    print(f"optimistic bound {bound[0]:.3f}")
    assert (mean > bound[0] + 1e-9) == (stages > 2)
