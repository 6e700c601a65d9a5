"""Algorithm 2, line 8, in our copy: V(q, y) over itself, on three words."""

words = [("y1", "y1"), ("y1", "y2"), ("y2", "y1")]  # feasible words from y0
V = len(words)
for reading in ("V(q', y') / V(q, y)", "V(q, y) / V(q, y)"):
    policy = {}
    for first in ("y1", "y2"):
        after = sum(word[0] == first for word in words)  # V(q', y')
        policy[first] = (V if reading.startswith("V(q, y)") else after) / V
    print(f"{reading}: {policy}, sum {sum(policy.values()):.0f}")
assert sum(policy.values()) == 2
