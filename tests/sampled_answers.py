"""Means of what dpsim samples, for the rows of data/known_answers.csv that they
estimate.

Each function returns one number for each draw, whose mean is the known value.
"""

import math

import numpy as np

from dpsim import boltzmann, dirichlet, words
from dpsim.words.automaton import log_integers
from dpsim.words.candidates import word_space
from dpsim.words.permute_and_flip import Mechanism
from dpsim_release import discrete_laplace

STEPS = 150
"""Steps of a Metropolis chain after which it has reached its limit, on few
histograms."""


def of_words(row, size, rng):
    """The distance, or whether it is the given one, shared among the words there."""
    about = row.about
    if row.quantity not in ("expected error", "probability"):
        return None
    space = word_space(about.get("m"), about.get("adjacency"), about.get("start"))
    true = about.get("word", [0] * about["n"])
    counts = words.HammingAutomaton(true, letters=space).counts
    name = row.mechanism.removesuffix(" mechanism")
    law = Mechanism(name, about["epsilon"], about["b"], about.get("offset", 0))
    found = law.draw(log_integers(counts), (size,), rng)
    if row.quantity == "expected error":
        return found
    distance = row.given["distance"]
    return (found == distance) / float(counts[distance])


def of_discrete_laplace(row, size, rng):
    """The absolute noise, or whether it reaches a number; without rng OpenDP
    samples."""
    if row.quantity not in ("expected error", "probability"):
        return None
    made = discrete_laplace.laplace_noise(1.0 / row.about["scale"])
    start = 10**6
    found = discrete_laplace.noisy_counts(np.full(size, start), made, rng) - start
    if row.quantity == "expected error":
        return np.abs(found)
    return found >= row.given["at least"]


def of_zero_sum(row, size, rng):
    """The people moved, whether there is no noise, or the gain of the worst
    outcomes."""
    bins = row.about["bins"]
    epsilon = row.about["epsilon"]
    if row.quantity == "epsilon":
        return None
    start = np.full(bins, 100)
    found = boltzmann.add_zero_sum_laplace(start, epsilon, size=size, rng=rng) - start
    if row.quantity == "expected error":
        return np.abs(found).sum(axis=1) / 2.0
    if row.quantity == "probability":
        return (found == 0).all(axis=1)
    worst = (found[:, 0] >= 0) & (found[:, 1] <= 0)
    return worst * -math.expm1(row.given["epsilon"] - epsilon)


def of_dirichlet(row, size, rng):
    """The error of the first entry, the divergence, or whether an entry is small."""
    if "p" not in row.about:
        return None
    p = np.array(row.about["p"])
    k = row.about["k"]
    logs = dirichlet.dirichlet_mechanism(p, k, size=size, rng=rng, log=True)
    if row.quantity == "probability":
        small = logs[:, : row.given["entries"]].min(axis=1)
        return small < math.log(row.given["one of the first entries below"])
    if row.given["error"].startswith("KL"):
        return ((np.log(p) - logs) * p).sum(axis=1)
    return np.abs(np.exp(logs[:, 0]) - p[0])


def of_boltzmann(row, size, rng):
    """The squared error, or whether there is none."""
    if "histogram" not in row.about:
        return None
    x = row.about["histogram"]
    t = row.about["t"]
    return of_histograms(row, boltzmann.sample_exact(x, t, size=size, rng=rng))


def of_chains(row, size, rng):
    """The same at the end of a Metropolis chain."""
    if "histogram" not in row.about:
        return None
    x = row.about["histogram"]
    t = row.about["t"]
    found = boltzmann.metropolis(x, t, STEPS, chains=size, rng=rng)
    return of_histograms(row, found)


def of_histograms(row, found):
    """What a row says about histograms."""
    if row.quantity == "probability":
        return (found == row.given["output"]).all(axis=-1)
    return ((found - row.about["histogram"]) ** 2).sum(axis=-1)


def of_real_noise(row, size, rng):
    """The absolute noise."""
    if row.quantity != "expected error":
        return None
    scale = row.about.get("scale", row.about.get("sigma"))
    name = row.mechanism.lower()
    found = dirichlet.noisy_matrix([0.5, 0.5], scale, name, size=size, rng=rng)
    return np.abs(found - 0.5)[:, 0]


SAMPLES = {
    "exponential mechanism": of_words,
    "permute-and-flip": of_words,
    "staircase": of_words,
    "discrete Laplace": of_discrete_laplace,
    "zero-sum discrete Laplace": of_zero_sum,
    "Dirichlet mechanism": of_dirichlet,
    "Boltzmann machine": of_boltzmann,
    "Laplace": of_real_noise,
    "Gaussian": of_real_noise,
}
"""What dpsim samples, for each mechanism of the table."""
