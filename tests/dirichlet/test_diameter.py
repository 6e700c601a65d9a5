import numpy as np
import pytest

from dpsim import dirichlet
from dpsim.numerics import simplex

PUBLIC = {"epsilon": 5.0, "delta": 0.01, "support": True, "rng": 1}


def test_neighbours_are_as_far_apart_as_the_bordered_simplex_allows():
    corners = simplex.project_to_simplex(np.eye(3), lower=0.3)
    apart = 0.5 * np.abs(corners[0] - corners[1]).sum()
    release = dirichlet.privatize([0.2, 0.3, 0.5], eta=0.3, b=1.0, **PUBLIC)
    assert release.parameters["shift"] == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize(("entries", "kind"), [(2, "a proven bound"), (3, "exact")])
def test_only_what_is_attained_is_called_exact(entries, kind):
    """With two entries no pair of neighbours has the profile of the Beta pair."""
    release = dirichlet.privatize(np.full(entries, 1 / entries), eta=0.2, b=0.02, **PUBLIC)
    assert f"private, {kind};" in release.statement
