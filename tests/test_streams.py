import numpy as np
import pytest

from dpsim import streams


def test_every_chunk_has_a_stream_of_its_own():
    chunks = streams.in_chunks(
        lambda size, rng: rng.random(size), 25, 10, seed=3, name="figure"
    )
    assert [len(chunk) for chunk in chunks] == [10, 10, 5]
    for i, chunk in enumerate(chunks):
        assert (chunk == streams.stream(3, "figure", i).random(len(chunk))).all()
    assert (
        not np.isin(chunks[1], chunks[0]).any()
        and not np.isin(chunks[2], chunks[0]).any()
    )


def test_a_stream_depends_on_seed_name_and_chunk():
    drawn = {
        streams.stream(*of).random()
        for of in ((1, "a"), (2, "a"), (1, "b"), (1, "a", 1))
    }
    assert len(drawn) == 4
    assert streams.stream(1, "a").random() == streams.stream(1, "a", 0).random()


@pytest.mark.parametrize(
    "junk",
    [-1, 0.5, True, "1", np.timedelta64(1, "s"), np.ma.masked_array(1, True), None],
)
def test_seeds_are_integers_where_there_is_nothing_to_draw_too(junk):
    for call in (
        lambda: streams.stream(junk, "a"),
        lambda: streams.in_chunks(min, 0, 1, seed=junk, name="a"),
    ):
        with pytest.raises(ValueError, match=r"^seed must be an integer of at least 0"):
            call()


def test_private_streams_differ_and_have_a_key_of_the_operating_system():
    drawn = [streams.private().integers(2**62, size=4).tolist() for _ in range(3)]
    assert len({tuple(numbers) for numbers in drawn}) == 3
    assert type(streams.private().bit_generator).__name__ == "ChaCha"


def test_uniform_draws_of_a_private_stream_are_never_one_and_follow_the_uniform_law():
    drawn = streams.private().random(100_000)
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    assert abs(drawn.mean() - 0.5) < 6 / np.sqrt(12 * 100_000)


@pytest.mark.parametrize("setting", ["0", "-1", "", "many", "1.5"])
def test_no_setting_leaves_a_process_without_threads(setting, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert streams.threads() == streams.cores() >= 1
    found = streams.in_chunks(lambda size, rng: size, 3, 2, seed=1, name="a")
    assert found == [2, 1]


def chacha20(key, numbers):
    """The first numbers of 64 bits of ChaCha20, with the nonce 0 (RFC 8439)."""
    stream = []
    for counter in range(-(-numbers // 8)):
        start = [*b"expa", *b"nd 3", *b"2-by", *b"te k", *key, counter, *bytes(15)]
        first = list(np.array(start, dtype=np.uint8).view(np.uint32).tolist())
        x = list(first)
        for _ in range(10):  # each is two rounds
            for i in range(4):
                quarter_round(x, i, i + 4, i + 8, i + 12)
            for i in range(4):
                quarter_round(x, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
        stream += [(a + b) % 2**32 for a, b in zip(x, first)]
    return np.array(stream, dtype=np.uint32).view(np.uint64)[:numbers]


def quarter_round(x, a, b, c, d):
    for to, other, turned, bits in (
        (a, b, d, 16),
        (c, d, b, 12),
        (a, b, d, 8),
        (c, d, b, 7),
    ):
        x[to] = (x[to] + x[other]) % 2**32
        mixed = x[turned] ^ x[to]
        x[turned] = (mixed << bits | mixed >> (32 - bits)) % 2**32


def test_a_release_is_drawn_by_chacha_with_its_twenty_rounds(monkeypatch):
    key = bytes(range(32))
    asked = []
    monkeypatch.setattr(streams.os, "urandom", lambda n: asked.append(n) or key[:n])
    drawn = streams.private().bit_generator.random_raw(20)
    assert asked == [32]
    np.testing.assert_array_equal(drawn, chacha20(key, 20))
