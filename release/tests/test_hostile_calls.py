"""No refusal vanishes: what hundreds of hostile calls are answered."""

import hostile_calls


def test_every_hostile_call_is_answered_as_before() -> None:
    calls, before = zip(*hostile_calls.listed())
    after = hostile_calls.answers(list(calls))
    changed = [
        f"{call}\n  was {old}\n  now {new}"
        for call, old, new in zip(calls, before, after)
        if new != old
    ]
    assert len(calls) >= 450 and not changed, "\n".join(changed)
