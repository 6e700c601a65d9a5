"""Search for the adjacent words of a chain that tell most apart: random walks, climbs, restarts near the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import ne
from typing import NamedTuple

import numpy as np

from dpsim.checks import Array
from dpsim.words.selection import log_word_probability
from dpsim.words.space import Chain, Codes, successors
from dpsim.words.suffix_tables import log_counts_of_words, log_normalisers

# Random words whose neighbours are compared, the best pairs to climb from, random restarts near the best one (for a
# law that is slower to evaluate, fewer), and the additions to spend on each stage.
WALKS, STARTS, KICKS, LAW_KICKS, SEARCH_WORK = 300, 12, 30, 8, 10**9

Word = tuple[int, ...]
Pair = tuple[Word, Word]


class Law(NamedTuple):
    """A mechanism with its parameters; `log_f` is its law per word."""

    mechanism: str
    epsilon: float
    b: int
    offset: int | None

    def log_f(self, log_counts: Array) -> Array:
        """Return log f (..., n + 1) from log-counts (..., n + 1)."""
        return log_word_probability(
            log_counts, self.epsilon, self.b, mechanism=self.mechanism, offset=self.offset, log=True
        )


def random_pairs(chain: Chain, n: int, b: int, rng: np.random.Generator) -> list[Pair]:
    """Return adjacent pairs: random walks, each with every word that differs in up to b letters in a row."""
    graph = [successors(chain, state).tolist() for state in range(chain.states)]
    pairs = []
    walks = min(WALKS, max(1, SEARCH_WORK // (4 * n * n * len(chain.indices))))
    for w in _random_walks(chain, n, walks, rng):
        for width in range(1, min(b, 3, n) + 1):
            for i in range(n - width + 1):
                pairs += [(w, _spliced(w, i, letters)) for letters in _detours(w, i, width, chain.start, graph)]
    return pairs


def _random_walks(chain: Chain, n: int, walks: int, rng: np.random.Generator) -> list[Word]:
    """Return feasible words drawn letter by letter, each of the letters that still allow n in all alike."""
    alive = np.ones((n + 1, chain.states), dtype=bool)  # states from which k more letters can follow
    for k in range(1, n + 1):
        reached = np.concatenate([[0], np.cumsum(alive[k - 1, chain.indices])])
        alive[k] = np.diff(reached[chain.indptr]) > 0
    words = []
    for uniform in rng.random((walks, n)):
        state, word = chain.start, []
        for k in range(n):
            choices = [letter for letter in successors(chain, state).tolist() if alive[n - 1 - k, letter]]
            state = choices[int(uniform[k] * len(choices))]
            word.append(state)
        words.append(tuple(word))
    return words


def search(pairs: list[Pair], chain: Chain, law: Law, rng: np.random.Generator) -> tuple[float, Pair]:
    """Return the largest log f_w(0) - log f_v(d(v, w)) found from the best of the pairs, and its pair.

    The exponential mechanism's losses are quick to compute: they choose where the law itself climbs.
    """
    graph = [successors(chain, state).tolist() for state in range(chain.states)]
    rate, n = law.epsilon / (2.0 * law.b), len(pairs[0][0])

    def quick_losses(moves: list[Pair]) -> Array:
        words, index, apart = _distinct(moves)
        log_z = log_normalisers(words, chain, rate)
        return np.asarray(log_z[index[:, 1]] - log_z[index[:, 0]] + rate * apart)

    def losses(moves: list[Pair]) -> Array:
        words, index, apart = _distinct(moves)
        log_f = law.log_f(log_counts_of_words(words, chain))
        return np.asarray(log_f[index[:, 0], 0] - log_f[index[:, 1], apart])

    work = n * len(chain.indices)
    best_first = np.argsort(-quick_losses(pairs), kind="stable")[:STARTS]
    starts = [pairs[index] for index in best_first]
    best = _climb_and_kick(starts, KICKS, chain.start, graph, law.b, quick_losses, SEARCH_WORK // work, rng)
    if law.mechanism == "exponential":
        return best
    return _climb_and_kick([best[1]], LAW_KICKS, chain.start, graph, law.b, losses, SEARCH_WORK // (work * n), rng)


def _climb_and_kick(
    starts: list[Pair],
    kicks: int,
    start: int,
    graph: list[list[int]],
    b: int,
    losses: Callable[[list[Pair]], Array],
    budget: int,
    rng: np.random.Generator,
) -> tuple[float, Pair]:
    """Return the best pair of all climbs: one from each start, then from kicks of the best so far."""
    share = budget // (len(starts) + kicks)
    best = max((_climb(pair, start, graph, b, losses, share) for pair in starts), key=_loss)
    for _ in range(kicks):
        kicked = _kicked(best[1], start, graph, rng)
        best = max(best, _climb(kicked, start, graph, b, losses, share), key=_loss)
    return best


def _loss(found: tuple[float, Pair]) -> float:
    return found[0]


def _distinct(pairs: list[Pair]) -> tuple[Codes, Codes, Codes]:
    """Return the different words (k, n), the pairs' indices into them (p, 2), and their distances (p,)."""
    place: dict[Word, int] = {}
    index = np.array([[place.setdefault(word, len(place)) for word in pair] for pair in pairs])
    words = np.array(list(place), dtype=np.int64)
    return words, index, (words[index[:, 0]] != words[index[:, 1]]).sum(axis=1)


def _climb(
    pair: Pair, start: int, graph: list[list[int]], b: int, losses: Callable[[list[Pair]], Array], budget: int
) -> tuple[float, Pair]:
    """Return the best pair found by changing one or two letters in a row of w, v or both, after its loss."""
    score = float(losses([pair])[0])
    while budget > 0:
        moves = [(w, v) for w, v in _moves(*pair, start, graph) if 0 < sum(map(ne, w, v)) <= b]
        budget -= 2 * len(moves)
        if not moves or budget < 0:
            break
        scores = losses(moves)
        if scores.max() <= score + 1e-12:
            break
        pair, score = moves[int(scores.argmax())], float(scores.max())
    return score, pair


def _moves(w: Word, v: Word, start: int, graph: list[list[int]]) -> Iterator[Pair]:
    """Yield the pairs with one or two letters in a row changed in w, in v, or in both alike."""
    for width in (1, 2):
        for i in range(len(w) - width + 1):
            for_w, for_v = _detours(w, i, width, start, graph), _detours(v, i, width, start, graph)
            yield from ((_spliced(w, i, letters), v) for letters in for_w)
            yield from ((w, _spliced(v, i, letters)) for letters in for_v)
            yield from ((_spliced(w, i, letters), _spliced(v, i, letters)) for letters in for_w & for_v)


def _kicked(pair: Pair, start: int, graph: list[list[int]], rng: np.random.Generator) -> Pair:
    """Return the pair with up to five letters in a row replaced at random in both words, where that is feasible."""
    w, v = pair
    width = min(5, len(w))
    i = int(rng.integers(len(w) - width + 1))
    common = sorted(
        letters
        for letters in _detours(w, i, width, start, graph) & _detours(v, i, width, start, graph)
        if _spliced(w, i, letters) != _spliced(v, i, letters)
    )
    if not common:
        return pair
    letters = common[int(rng.integers(len(common)))]
    return _spliced(w, i, letters), _spliced(v, i, letters)


def _spliced(word: Word, i: int, letters: Word) -> Word:
    return word[:i] + letters + word[i + len(letters) :]


def _detours(word: Word, i: int, width: int, start: int, graph: list[list[int]]) -> set[Word]:
    """Return the other feasible choices of the letters i to i + width - 1."""
    paths: list[Word] = [(start if i == 0 else word[i - 1],)]
    for _ in range(width):
        paths = [(*path, letter) for path in paths for letter in graph[path[-1]]]
    after = word[i + width : i + width + 1]
    return {path[1:] for path in paths if not after or after[0] in graph[path[-1]]} - {word[i : i + width]}
