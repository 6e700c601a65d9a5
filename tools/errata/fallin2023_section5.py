"""Section V and Figure 2: Theorem 1 at the printed parameters, at others that round to them, and at b = 0.01."""

import numpy as np
from scipy.special import betainc, betaln


def epsilon(k, b, eta, eta_bar, gamma):
    """Return Theorem 1's epsilon for rows with two protected entries, the largest."""
    s, rest = b / 2, 1 - eta_bar - eta
    ratio = betaln(k * eta, k * rest) - betaln(k * (eta + s), k * (rest - s))
    return ratio + k * s * np.log((1 - gamma) / gamma)


def delta(k, eta, gamma):
    """Return Theorem 1's delta of rows with two protected entries, the least, within one part in a thousand."""
    return -np.expm1(2 * np.log1p(-betainc(k * eta, k * (1 - eta), gamma)))


printed = {"b": 0.025, "eta": 0.10, "eta_bar": 0.051, "gamma": 0.001}
rounding = {"b": 0.024501, "eta": 0.10499, "eta_bar": 0.05149, "gamma": 0.00079}
found = []
for name, inputs, pair in (("as printed", printed, (9.87, 98.7)), ("rounding to them", rounding, (9.8749, 98.6501))):
    for k in pair:
        found.append((epsilon(k, **inputs), delta(k, inputs["eta"], inputs["gamma"])))
        print(f"inputs {name}, k = {k}: epsilon {found[-1][0]:.3f}, delta {found[-1][1]:.2g}")
for b in (0.025, 0.01):
    ends = [epsilon(k, **(printed | {"b": b})) for k in (10, 200)]
    print(f"b = {b}: k in [10, 200] gives epsilon in [{ends[0]:.3f}, {ends[1]:.3f}]")
loose = 9.5 * 0.0245 / 2 * np.log((1 - 8 * 0.0015) / 0.0015)
print(f"whatever rounds to the printed inputs of Figure 2: epsilon of at least {loose:.4f}")
assert loose > 0.755
assert found[0][1] > 0.018 and found[1][1] < 1e-16 and abs(ends[1] - 9) < 0.05
assert np.allclose(found[2], (1.16, 0.011), atol=(5e-3, 5e-4)) and abs(found[3][0] - 11.12) < 5e-3
