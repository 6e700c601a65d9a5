"""What dpsim and other libraries say about a row of data/known_answers.csv.

A claim is a number with a side: it equals the known value, is at least it, or is at
most it. Most bounds also have to be near the value, so that a mistake of 1 % cannot
hide on the safe side.
"""

import csv
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from dpsim import accounting, boltzmann, dirichlet, paths, words
from dpsim.accounting import noise_scales
from dpsim.boltzmann import epsilon as boltzmann_epsilon
from dpsim.words.automaton import log_integers
from dpsim.words.candidates import word_space
from dpsim.words.normaliser_bound import largest_log_ratio
from dpsim.words.permute_and_flip import Mechanism
from dpsim_release import discrete_laplace

EQUAL, AT_LEAST, AT_MOST = "equal to", "at least", "at most"
FAR = math.inf  # for bounds that may be far from the value
ROUNDED = 5e-15  # what doubles may lose in a difference of probabilities


class Claim(NamedTuple):
    """A number, which side of [low, high] it belongs to, and its largest relative
    distance."""

    source: str
    number: float
    side: str
    low: float
    high: float
    within: float

    @property
    def holds(self):
        """Whether the number is on its side, and near enough."""
        slack = 1e-13 * self.high
        above = self.number >= self.low - slack or self.side == AT_MOST
        below = self.number <= self.high + slack or self.side == AT_LEAST
        near = abs(self.number - self.low) <= self.within * self.high
        return near and (self.side == EQUAL or (above and below))

    def __str__(self):
        return f"{self.source} says {self.number!r}, should be {self.side} {self.low!r}"


@dataclass(frozen=True)
class Row:
    """A row of the table, with its JSON read."""

    id: str
    mechanism: str
    quantity: str
    about: dict
    given: dict
    low: float
    high: float

    def equal(self, source, number, within=1e-10):
        """Claim that a number is the value."""
        return Claim(source, float(number), EQUAL, self.low, self.high, within)

    def above(self, source, number, within=FAR):
        """Claim that a number is an upper bound on the value."""
        return Claim(source, float(number), AT_LEAST, self.low, self.high, within)

    def below(self, source, number, within=FAR):
        """Claim that a number is a lower bound on the value."""
        return Claim(source, float(number), AT_MOST, self.low, self.high, within)

    def profile(self, source, delta_at, within=1e-9):
        """Claim a delta, or that the known epsilon has the delta at which it is
        given."""
        if self.quantity == "delta":
            return self.equal(source, delta_at(self.given["epsilon"]), within)
        delta = self.given["delta"]
        within = max(within, ROUNDED * max(1.0, self.low) / delta)
        return Claim(source, delta_at(self.low), EQUAL, delta, delta, within)


def read():
    """Return the rows of the table."""
    path = paths.data() / "known_answers.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            Row(
                id=row["id"],
                mechanism=row["mechanism"],
                quantity=row["quantity"],
                about=json.loads(row["parameters"]),
                given=json.loads(row["given"]),
                low=float(row["low"]),
                high=float(row["high"]),
            )
            for row in csv.DictReader(lines)
        ]


def hockey_stick(log_p, log_q, epsilon):
    """Return the divergence of two distributions on the same outcomes."""
    gain = -np.expm1(np.minimum(epsilon + log_q - log_p, 0.0))
    return float((np.exp(log_p) * gain).sum())


# --- dpsim: words and walks


def of_words(row) -> Iterator[Claim]:
    """The exponential mechanism, permute-and-flip and the staircase."""
    about = row.about
    n = about["n"]
    b = about["b"]
    epsilon = about["epsilon"]
    space = word_space(about.get("m"), about.get("adjacency"), about.get("start"))
    name = row.mechanism.removesuffix(" mechanism")
    law = Mechanism(name, epsilon, b, about.get("offset", 0))
    if row.quantity == "epsilon":
        spent = words.exact_word_epsilon(
            n,
            epsilon,
            mechanism=name,
            b=b,
            letters=about.get("m"),
            adjacency=about.get("adjacency"),
            start=about.get("start"),
        )
        yield row.equal("exact_word_epsilon", spent, 1e-9)
        yield row.above("Benvenuti 2026, Theorem 1", epsilon)
        if "graph" in about and name == "exponential" and b == 1:
            rate = epsilon / 2.0
            bound = min(epsilon, rate + largest_log_ratio(space.chain, n, rate))
            yield row.above(
                "the bound for long walks", bound, 0.1 if epsilon > 1 else FAR
            )
    elif row.quantity == "delta":
        yield row.profile(
            "dpsim's distribution", lambda at: largest_delta(law, n, about["m"], at)
        )
    else:
        true = about.get("word", [0] * n)
        counts = words.HammingAutomaton(true, letters=space).counts
        yield from of_distances(row, law, counts)


def of_distances(row, law, counts):
    """The distribution of the distance from the true word."""
    pmf = law.pmf(log_integers(counts))
    if row.quantity == "probability":
        distance = row.given["distance"]
        yield row.equal("Mechanism.pmf", pmf[distance] / float(counts[distance]))
        return
    yield row.equal("Mechanism.pmf", pmf @ np.arange(len(pmf)))
    if law.name == "staircase":
        return
    case = counts, law.epsilon, law.b
    error = words.expected_error(*case, mechanism=law.name)
    yield row.equal("expected_error", error)
    if law.name == "permute-and-flip":
        upper = words.expected_error(*case, mechanism="exponential")
        yield row.above("the upper bound of Theorem 2", upper)


def distances(n, m, word):
    """Return the distances of all words from one."""
    return (np.array(list(product(range(m), repeat=n))) != word).sum(axis=1)


def largest_delta(law, n, m, epsilon):
    """Return the largest divergence of words that differ in at most b letters."""
    log_f = law.log_f(log_integers(words.alphabet_counts(n, m)))
    first = log_f[distances(n, m, [0] * n)]
    others = [[1] * apart + [0] * (n - apart) for apart in range(1, law.b + 1)]
    return max(hockey_stick(first, log_f[distances(n, m, v)], epsilon) for v in others)


def of_randomised_response(row):
    """dpsim has it as the exponential mechanism, promised 2 b times its epsilon."""
    n, m, b, epsilon = (row.about[name] for name in ("n", "m", "b", "epsilon"))
    promised = 2.0 * b * epsilon
    if row.quantity == "epsilon" and row.given["delta"] == 0:
        spent = words.exact_word_epsilon(
            n, promised, mechanism="exponential", b=b, letters=m
        )
        yield row.equal("exact_word_epsilon", spent, 1e-9)
        return
    law = Mechanism("exponential", promised, b)
    yield row.profile("dpsim's distribution", lambda at: largest_delta(law, n, m, at))


# --- dpsim: noise


def of_discrete_laplace(row):
    """The noise of a release; the epsilons of several releases add up."""
    about = row.about
    scale = about["scale"]
    times = about.get("times", 1)
    events = about.get("counts", 1) * about.get("change", 1)
    made = discrete_laplace.laplace_noise(events / scale, events)
    if row.quantity == "expected error":
        yield row.equal("Noise.mean_absolute", made.mean_absolute)
    elif row.quantity == "probability":
        yield row.equal(
            "Noise.log_tail", math.exp(made.log_tail(row.given["at least"]))
        )
    elif row.quantity == "epsilon" and row.given["delta"] == 0:
        yield row.above("Noise.epsilon", times * made.epsilon, 1e-12)
        needed = discrete_laplace.laplace_noise(row.high / times, events).scale
        yield Claim("laplace_noise", needed, EQUAL, scale, scale, 1e-12)
    elif row.quantity == "epsilon":
        yield row.above("the sum of Noise.epsilon", times * made.epsilon)


def of_threshold(row):
    """The bound on delta of pairs that a unit has alone, for any split of its
    events."""
    events = row.about["events"]
    made = discrete_laplace.laplace_noise(1.0 / row.about["scale"])
    bound = discrete_laplace.pair_delta(made, sum(events), row.about["threshold"])
    worst = events in ([1], [2])  # the splits for which the bound is exact
    yield row.above("pair_delta", bound, 1e-8 if worst else 0.5)
    least, spent = discrete_laplace.pair_threshold(made, sum(events), bound)
    assert least == row.about["threshold"]
    yield row.above("pair_threshold", spent)


def of_zero_sum(row):
    """dpsim states its epsilon, and otherwise only samples it."""
    if row.quantity == "epsilon":
        bins = row.about["bins"]
        epsilon = row.about["epsilon"]
        made = boltzmann.privatize(
            [1] * bins,
            epsilon=epsilon,
            total=bins,
            bins=bins,
            mechanism="laplace",
            rng=1,
        )
        yield row.above("privatize", made.epsilon, 1e-12)


def of_laplace(row):
    """dpsim has it on both entries of a row that move, in units in which b is 1."""
    if row.quantity == "expected error" or row.about["entries"] != 2:
        return
    scale = row.about["scale"] / (2.0 * row.about["change"])
    if row.quantity == "delta" or row.given["delta"] > 0:
        yield row.profile(
            "laplace_delta", lambda at: noise_scales.laplace_delta(at, scale, 1.0, 1)
        )
        epsilon = row.given.get("epsilon", row.high)
        delta = row.given.get("delta", row.low)
        needed = accounting.laplace_scale(epsilon, delta, b=1.0)
        yield Claim("laplace_scale", needed, AT_LEAST, scale, scale, 1e-8)


def of_gaussian(row):
    """The smallest sigma for the known epsilon and delta is the row's, rounded up."""
    if row.quantity == "expected error":
        return
    epsilon = row.given.get("epsilon", row.low)
    delta = row.given.get("delta", row.low)
    if epsilon == 1e-6:  # refused: digits cancel
        return
    sigma = row.about["sigma"] / row.about["change"]
    needed = accounting.gaussian_scale(epsilon, delta, b=1.0) * math.sqrt(2.0)
    yield Claim("gaussian_scale", needed, AT_LEAST, sigma, sigma, 1e-8)


# --- dpsim: the simplex, histograms


def of_dirichlet(row):
    """The privacy of one row and of several, and the accuracy."""
    about = row.about
    if "p" in about:
        yield from of_one_release(row)
        return
    k = about["k"]
    rows = about["rows"]
    shift = about["shift"]
    eta = about["eta"]
    if rows == 1:
        yield row.profile(
            "exact_delta",
            lambda at: accounting.exact_delta(at, k, shift=shift, eta=eta),
            1e-9,
        )
        if row.quantity == "epsilon":
            delta = row.given["delta"]
            found = accounting.exact_epsilon(delta, k, shift=shift, eta=eta)
            yield row.above("exact_epsilon", found, 1e-8)
            floor = accounting.privacy_floor(delta, shift=shift, eta=eta)
            yield row.below("privacy_floor", floor)
            if k > 1e-3:
                largest = accounting.calibrate_k(row.high, delta, shift=shift, eta=eta)
                yield Claim("calibrate_k", largest, EQUAL, k, k, 1e-7)
    known = row.low if row.quantity == "delta" else row.given["delta"]
    if k > 1e-3 and known > 1e-11:
        made = accounting.compose(k, shift=shift, eta=eta, count=rows)
        if row.quantity == "delta":
            lower, upper = made.delta_bounds(row.given["epsilon"])
        else:
            lower = made.epsilon_lower_bound(row.given["delta"])
            upper = made.epsilon(row.given["delta"])
        yield row.below("compose, lower bound", lower, 1e-3)
        yield row.above("compose, upper bound", upper, 1e-3)


def of_one_release(row):
    """The accuracy of one row, and the probability of small entries."""
    k = row.about["k"]
    p = row.about["p"]
    if row.quantity == "probability":
        gamma = row.given["one of the first entries below"]
        m = row.given["entries"]
        found = dirichlet.leaving_probability(p[:m], k, gamma=gamma)
        yield row.equal("leaving_probability", found, 1e-10)
        lower, upper = dirichlet.theorem1_delta_bounds(
            k, eta=p[0], gamma=gamma, n=len(p), protected=m
        )
        yield row.below("delta_bounds, lower", lower, 0.01)
        yield row.above("delta_bounds, upper", upper, 0.01)
    elif row.given["error"].startswith("KL"):
        yield row.equal("expected_kl", dirichlet.expected_kl(p, k))
    else:
        found = dirichlet.expected_absolute_error(p, k)[0]
        yield row.equal("expected_absolute_error", found)
        bound = dirichlet.expected_absolute_error_bound(k)
        yield row.above("expected_absolute_error_bound", bound)
        log_bound = dirichlet.log_absolute_error_lower_bound(len(p), 100, k)
        yield row.below("log_absolute_error_lower_bound", math.exp(log_bound))


def of_posterior(row):
    """The release that needs no public minimum."""
    kappa = row.about["kappa"]
    alpha = row.about["alpha"]
    adjacency = row.about["adjacency"]
    yield row.profile(
        "posterior_delta",
        lambda at: accounting.exact.posterior_delta(
            at, kappa=kappa, alpha=alpha, adjacency=adjacency
        ),
    )
    if row.quantity == "epsilon":
        delta = row.given["delta"]
        floor = accounting.posterior_floor(delta, alpha=alpha, adjacency=adjacency)
        yield row.below("posterior_floor", floor)
        largest = accounting.calibrate_kappa(
            row.high, delta, alpha=alpha, adjacency=adjacency
        )
        yield Claim("calibrate_kappa", largest, EQUAL, kappa, kappa, 1e-7)


def of_boltzmann(row):
    """One draw of the limit, and the chain after some steps."""
    about = row.about
    t = about["t"]
    if "histogram" in about:
        yield from of_one_histogram(row, about["histogram"], t)
        return
    people = about["people"]
    bins = about["bins"]
    if "steps" in about:
        epsilon = row.given["epsilon"]
        case = people, bins, t, about["steps"]
        found = boltzmann.mixing_delta(*case, epsilon=epsilon)
        yield row.equal("mixing_delta", found, 1e-9)
        if epsilon >= boltzmann.exact_epsilon_limit(people, bins, t):
            yield row.above("mixing_bound", boltzmann.mixing_bound(*case, epsilon))
    elif row.quantity == "delta":
        found = largest_limit_delta(people, bins, t, row.given["epsilon"])
        yield row.equal("boltzmann.epsilon.losses", found, 1e-9)
    else:
        delta = row.given["delta"]
        found = boltzmann.epsilon_at_delta(people, bins, t, delta)
        yield row.above("epsilon_at_delta", found, 3e-9)
        yield row.above("epsilon_bound", boltzmann.epsilon_bound(people, bins, t))
        if delta == 0:
            found = boltzmann.exact_epsilon_limit(people, bins, t)
            yield row.equal("exact_epsilon_limit", found, 3e-8 if t > 1e6 else 1e-10)


def of_one_histogram(row, x, t):
    """The distribution around one histogram."""
    space = boltzmann.configurations(sum(x), len(x))
    mass = np.exp(boltzmann.log_stationary(x, t))
    if row.quantity == "probability":
        place = boltzmann.configuration_index(row.given["output"], sum(x))
        yield row.equal("log_stationary", mass[place])
    else:
        yield row.equal("log_stationary", mass @ ((space - x) ** 2).sum(axis=1))


def largest_limit_delta(people, bins, t, epsilon):
    """Return the largest divergence over neighbours, from dpsim's losses."""
    found = boltzmann_epsilon.losses(people, bins, t)
    sums = [
        boltzmann_epsilon.hockey_stick_sums(loss, mass, epsilon) for loss, mass in found
    ]
    return max(float(each.max()) for each in sums)


DPSIM = {
    "exponential mechanism": of_words,
    "permute-and-flip": of_words,
    "staircase": of_words,
    "randomised response": of_randomised_response,
    "discrete Laplace": of_discrete_laplace,
    "discrete Laplace with a threshold": of_threshold,
    "zero-sum discrete Laplace": of_zero_sum,
    "Laplace": of_laplace,
    "Gaussian": of_gaussian,
    "Dirichlet mechanism": of_dirichlet,
    "tempered Dirichlet posterior": of_posterior,
    "Boltzmann machine": of_boltzmann,
}
"""What dpsim says, for each mechanism of the table."""
