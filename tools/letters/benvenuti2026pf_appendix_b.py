"""Appendix B: probabilities of the distances on a chain, and those that it states."""

from itertools import product
from math import comb

import numpy as np

follow = {0: (1, 2, 3), 1: (0, 2, 3), 2: (1, 3), 3: (1, 2)}  # a chain of four letters
start, word, epsilon, b = 0, (1, 2, 3), 2, 1
n, m = len(word), len(follow)
drives = [
    v
    for v in product(follow, repeat=n)
    if all(y in follow[x] for x, y in zip((start, *v), v))
]
distances = [sum(x != y for x, y in zip(v, word)) for v in drives]
on_chain = np.bincount(distances, minlength=n + 1)
all_words = np.array([comb(n, d) * (m - 1) ** d for d in range(n + 1)])
nodes, weights = np.polynomial.legendre.leggauss(40)
u = (nodes + 1) / 2
q = np.exp(-epsilon * np.arange(n + 1) / (2 * b))


def probabilities(counts):
    """Return those of permute-and-flip, as in (7), and of the exponential mechanism."""
    everything = np.prod((1 - np.outer(u, q)) ** counts, axis=1)
    Phi = weights / 2 @ (everything[:, None] / (1 - np.outer(u, q)))
    flip = q * counts * Phi
    assert abs(flip.sum() - 1) < 1e-12
    return flip, q * counts / (q @ counts)


print(
    f"{len(drives)} words of the chain, {m**n} words of {n} letters, epsilon {epsilon}"
)
pairs = zip(probabilities(on_chain), probabilities(all_words))
for name, (chain, words) in zip(("(7)", "[21, Mechanism 3]"), pairs):
    print(f"{name}: on the chain {chain.round(4)}, as stated {words.round(4)},")
    print(f"    largest difference {abs(chain - words).max():.4f}")
