"""Lemma 1 holds, but its proof splits the outputs into sets that leave some out."""

import numpy as np

failure = 0.1  # each of two rows is in its Omega_2 with this probability
rng = np.random.default_rng(1)
failed = rng.random((1_000_000, 2)) < failure
first, second = ~failed.any(axis=1), failed.all(axis=1)  # the two products of C.4
neither = 1 - (1 - failure) ** 2 - failure**2
print(f"two rows, each in Omega_2 with probability {failure}: an output is in")
print(f"  neither product with probability {neither:.2f}", end=", ")
print(f"sampled {np.mean(~first & ~second):.3f}")
print(f"outside the product of the Omega_1: {1 - (1 - failure) ** 2:.2f}", end=", ")
print(f"where (88) has {failure**2:.2f}")
assert abs(np.mean(~first & ~second) - neither) < 0.002
