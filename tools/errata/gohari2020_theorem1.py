"""The step of Theorem 1's proof that draws the transitions anew at each stage: a model where it does not hold."""

import numpy as np

beta = 0.1
reward = np.array([0.0, 1.0, 0.0, 0.5])  # of enter, boom, bust and bond, per stage
released = np.array([3, 2, 2, 3])  # where each leads, as released; with probability beta enter and boom lead to boom
lucky = np.array([1, 1, 2, 3])
for stages in (2, 3, 5, 10, 20):
    high, wrong, right = (np.zeros(4) for _ in range(3))
    for _ in range(stages):
        high = reward + (1 - beta) * high[released] + beta * high.max()  # the best vector of D at r = 0
        wrong, right = reward + wrong[released], reward + right[lucky]
    expected = (1 - beta) * wrong[0] + beta * right[0]
    print(f"{stages} stages: expected value {expected:.3f}, optimistic bound {high[0]:.3f}")
    assert (expected > high[0] + 1e-9) == (stages > 2)
