"""Section V: Theorem 1 at the printed inputs, and at inputs that round to them."""

import numpy as np
from scipy.special import betainc, betaln


def pair(k, b, eta, eta_bar, gamma):
    """Return Theorem 1's epsilon, and delta of two entries to one part in a hundred."""
    s = b / 2
    rest = 1 - eta_bar - eta
    ratio = betaln(k * eta, k * rest) - betaln(k * (eta + s), k * (rest - s))
    tail = betainc(k * eta, k * (1 - eta), gamma)
    return ratio + k * s * np.log((1 - gamma) / gamma), -np.expm1(2 * np.log1p(-tail))


printed = {"b": 0.025, "eta": 0.10, "eta_bar": 0.051, "gamma": 0.001}
near = {"b": 0.024501, "eta": 0.10499, "eta_bar": 0.05149, "gamma": 0.00079}
print("printed: k = 9.87: (1.16, 0.011); k = 98.7: (11.12, 0.019)")
found = []
for name, inputs, ks in (
    ("as printed", printed, (9.87, 98.7)),
    ("that round to them", near, (9.8749, 98.6501)),
):
    for k in ks:
        found += [pair(k, **inputs)]
        epsilon, delta = found[-1]
        print(f"inputs {name}, k = {k}: ({epsilon:.2f}, {delta:.2g})")
assert found[0][1] > 0.0185 and found[1][1] < 1e-16 and found[3][1] < 1e-18
assert np.allclose(found[2], (1.16, 0.011), atol=(5e-3, 5e-4))
assert abs(found[3][0] - 11.12) < 5e-3
