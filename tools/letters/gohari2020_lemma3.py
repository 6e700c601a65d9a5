"""Lemma 3: a fixed vector is its own mean, and can lie outside D."""

import numpy as np
from scipy.stats import beta as beta_law

k, beta = 50.0, 0.05
radius = np.sqrt(np.log(1 / beta) / (2 * (k + 1)))
# (1/2, 1/2) is in D(x, 1 - x) if (1/2 - beta t) / (1 - beta) is within the radius of x
# for some t in [0, 1].
outside = 2 * beta_law(k / 2, k / 2).sf(0.5 / (1 - beta) + radius)
x = np.random.default_rng(1).beta(k / 2, k / 2, size=400_000)
ends = np.array([0.5 - beta, 0.5]) / (1 - beta)
sampled = np.mean((x > ends[1] + radius) | (x < ends[0] - radius))
print(f"p = (1/2, 1/2), k = {k:g}, beta = {beta}: radius {radius:.3f},")
print(f"  p is outside D with probability {outside:.4f}, sampled {sampled:.4f}")
assert outside > 0.003 and abs(outside - sampled) < 6e-4
