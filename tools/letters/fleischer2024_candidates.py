"""The candidate move decides the stationary distribution: pairs of bins, or people."""

from functools import reduce
from itertools import permutations, product

import numpy as np
from scipy.special import gammaln


def log_probability(z, x, t, people):
    """Return log pi(z), or of pi(z) N! / (z_1! ... z_n!) if people are drawn."""
    m = np.arange(sum(x) + 1)
    bins = [-((m - count) ** 2) / t - people * gammaln(m + 1) for count in x]
    total = reduce(np.convolve, [np.exp(each) for each in bins])[sum(x)]
    return sum(each[count] for each, count in zip(bins, z)) - np.log(total)


x, t = (1, 0, 1), 10
states = [z for z in product(range(3), repeat=3) if sum(z) == 2]
c = {z: -sum((a - b) ** 2 for a, b in zip(z, x)) for z in states}
T = np.zeros((6, 6))  # a person is drawn, and another bin
for z, (i, j) in product(states, permutations(range(3), 2)):
    moved = tuple(z[bin] + (bin == j) - (bin == i) for bin in range(3))
    if z[i]:
        accepted = min(1, np.exp((c[moved] - c[z]) / t))
        T[states.index(z), states.index(moved)] = z[i] / 4 * accepted
T += np.diag(1 - T.sum(axis=1))
people = np.linalg.matrix_power(T, 500)[0]
assert np.allclose(np.log(people), [log_probability(z, x, t, True) for z in states])
pi = np.exp(log_probability((2, 0, 0), x, t, False))
walked = people[states.index((2, 0, 0))]
print(f"x = {x}, t = {t}: (2, 0, 0) has pi {pi:.2f}; if people are drawn, {walked:.2f}")

seen = [(10, 8, 5, 11, 16), (6, 7, 10, 13, 14), (7, 10, 11, 9, 13)]
for people in (False, True):
    fit = sum(log_probability(z, (1, 2, 3, 20, 24), 100, people) for z in seen)
    drawn = "people" if people else "bins"
    print(f"three histograms, t = 100, {drawn} drawn: log-likelihood {fit:.0f}")
