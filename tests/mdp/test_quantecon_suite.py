"""Three tests of QuantEcon's own suites, with our solvers in the place of theirs."""

import numpy as np
import pytest

from dpsim import markov, mdp


@pytest.fixture
def of_decisions():
    from quantecon.markov.tests import test_ddp

    return test_ddp


def model(ddp, horizon=None):
    """Return a QuantEcon model as ours: an action that it forbids earns minus infinity there."""
    ddp = ddp.to_product_form()
    allowed = np.isfinite(ddp.R)
    discount = {"horizon": horizon, "discount": ddp.beta}
    return mdp.MDP(ddp.Q, np.where(allowed, ddp.R, 0.0), allowed=allowed, **discount)


def backward_induction(ddp, stages):
    """Return the values before each stage and after the last one, and the policy, as QuantEcon does."""
    values = [mdp.synthesize(model(ddp, left))[1] for left in range(stages, 0, -1)]
    return [*values, np.zeros(ddp.num_states)], mdp.synthesize(model(ddp, stages))[0]


def test_its_chains_of_learning_players(monkeypatch):
    """One of them is nearly reducible: mutations have the probability 1e-14."""
    from quantecon.markov.tests import test_gth_solve as of_chains

    monkeypatch.setattr(of_chains, "gth_solve", markov.stationary_distribution)
    for property_of_the_law in of_chains.test_classes:
        of_chains.test_kmr_matrix(property_of_the_law)
    of_chains.test_kmr_matrix_1()


def test_its_example_of_puterman(of_decisions):
    suite = of_decisions.TestDiscreteDP()
    suite.setup_method()
    for ddp in suite.ddps:
        policy, values = mdp.synthesize(model(ddp))
        assert values == pytest.approx(suite.v_star, rel=1e-12)
        assert policy.tolist() == suite.sigma_star


def test_its_finite_horizon(monkeypatch, of_decisions):
    monkeypatch.setattr(of_decisions, "backward_induction", backward_induction)
    suite = of_decisions.TestFiniteHorizon()
    suite.setup_method()
    suite.test_backward_induction()
