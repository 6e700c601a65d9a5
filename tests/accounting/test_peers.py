"""The composition beside Microsoft's prv_accountant, which is given nothing but the law of one loss."""

import numpy as np
import pytest
from prv_accountant import PrivacyRandomVariable, PRVAccountant
from scipy import special, stats

from dpsim import accounting

EPSILON_ERROR, DELTA_ERROR = 0.02, 1e-8


class BetaLoss(PrivacyRandomVariable):
    """The loss t log(x / (1 - x)) of x from Beta(a + t, a), against its mirror image."""

    def __init__(self, a, t):
        self.a, self.t = a, t

    def cdf(self, y):
        return stats.beta.cdf(special.expit(np.asarray(y, dtype=float) / self.t), self.a + self.t, self.a)

    def mean(self):
        return self.t * (special.psi(self.a + self.t) - special.psi(self.a))

    def rdp(self, alpha):
        """Return the Renyi divergence of order alpha, which the peer needs to choose its grid."""
        if alpha == 1.0:
            return self.mean()
        a, t = self.a, self.t
        if a + t - alpha * t <= 0.0:
            return np.inf
        return (special.betaln(a + alpha * t, a + t - alpha * t) - special.betaln(a + t, a)) / (alpha - 1.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Assuming that true epsilon")
@pytest.mark.parametrize("count", [1, 7, 32])
@pytest.mark.parametrize(("k", "shift", "eta"), [(20.6, 1 / 98, 0.073), (98.7, 0.0125, 0.1)])
def test_compositions_agree_with_the_peer(k, shift, eta, count):
    peer = PRVAccountant(
        BetaLoss(k * eta, k * shift), EPSILON_ERROR, DELTA_ERROR, max_self_compositions=count, eps_max=60.0
    )
    ours = accounting.compose(k, shift=shift, eta=eta, count=count)
    for target in (1e-1, 1e-3, 1e-5):
        epsilon = float(ours.epsilon(target))
        below, estimate, above = peer.compute_delta(epsilon, [count])
        lower, upper = ours.delta_bounds(epsilon)
        assert below <= upper and lower <= above
        assert estimate == pytest.approx(target, rel=1e-3)
