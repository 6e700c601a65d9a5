"""If the exponential mechanism has the expected error E, permute-and-flip has at least
E / (2 - E / n) on the same words, whatever they are."""

import numpy as np

nodes, weights = np.polynomial.legendre.leggauss(40)  # exact for up to 79 factors
n = 14


def errors(distances, epsilon, b=1):
    """Return the expected errors of permute-and-flip and exponential mechanism."""
    q = np.exp(-epsilon * distances / (2 * b))
    factors = 1 - np.outer((nodes + 1) / 2, q)
    # P(r) = q_r * integral over u in (0, 1) of the product of 1 - u q_s over s != r
    others = factors.prod(axis=1, keepdims=True) / factors
    flip = q * (weights / 2 @ others)
    return flip @ distances, q @ distances / q.sum()


rng = np.random.default_rng(1)
smallest = np.inf
for _ in range(10_000):
    words = rng.integers(1, n + 1, rng.integers(1, 78))
    flip, exponential = errors(np.append(0, words), 10 ** rng.uniform(-1, 1.3))
    smallest = min(smallest, flip * (2 - exponential / n) / exponential)
print(f"10,000 random sets of words, n = {n}: permute-and-flip's error is at least")
print(f"  {smallest:.3f} times E / (2 - E / n)")
two = np.array([0, n])  # two words that differ in all letters
flip, exponential = errors(two, 0.439)
error = np.sqrt(flip * (n - flip) / 2000)
print(f"two words, expected errors {exponential:.2f} and {flip:.2f}", end=", ")
print(f"standard error of the mean of 2,000 words {error:.2f}")
least = 0.615 / (2 - 0.615 / n)
print(f"printed 0.62 and 0.28; beside 0.62 (0.615 or more) at least {least:.3f}")
print("the reduction of expected errors: less than 50 %, printed 55.7 %")
assert smallest > 1 - 1e-9 and least > 0.285
