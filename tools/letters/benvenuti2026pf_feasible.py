"""Section II-B: the condition for a feasible word, read to the letter."""

import numpy as np

T = np.zeros((3, 3))  # T[i, j]: from y_i to y_j
T[0, 1] = T[1, 2] = T[2, 1] = 1  # y0 leads to y1 only


def printed(word):
    """Return whether T_{y_{t+1}, y_t} > 0 for t = 1, ..., n - 1."""
    return all(T[word[t + 1], word[t]] > 0 for t in range(1, len(word) - 1))


def meant(word):
    """Return whether T_{y_t, y_{t+1}} > 0 for t = 0, ..., n - 1."""
    return all(T[word[t], word[t + 1]] > 0 for t in range(len(word) - 1))


for word in ((0, 1, 2), (0, 2, 1)):
    print(f"word y{word[0]} y{word[1]} y{word[2]}:", end=" ")
    print(f"as printed {printed(word)}, as meant {meant(word)}")
assert printed((0, 2, 1)) and not meant((0, 2, 1))
