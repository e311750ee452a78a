"""The hash equals Spark's, bit for bit, by every code path."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.hashing import SPARK_SEED, hash_longs, hash_strings, mix, murmur3_strings

SPARK_STRINGS = {  # results of Spark's xxhash64
    "": 0x98B1582B0977E704,
    "a": 0x88E4FE59ADF7B0CC,
    "Turkey": 0xC9FD6F21FD6810BC,
    "12345678": 0x5F3E6A93C99D6E02,
    "İstanbul 東京": 0x77601335D7325D18,
    "thirty-one bytes long like this": 0x1FD07C4271F711A9,
    "thirty-two bytes long, like this": 0x79657BE2995C7052,
    "a key of more than thirty-two bytes, which takes the other path: 東京": 0x641F910AFA00EF04,
}
SPARK_LONGS = {
    0: 0xB71B47EBDA15746C,
    1: 0x9ED50FD59358D232,
    -1: 0x358AE035BFB46FD2,
    42: 0xA092F330C19FF2DE,
    2**63 - 1: 0xD2F1C616AE7EB306,
    -(2**63): 0x88608019C494C1F4,
}
all_characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.text(all_characters, max_size=40), st.text(all_characters, min_size=25, max_size=300)
)


def test_golden_strings():
    assert hash_strings(SPARK_STRINGS).tolist() == list(SPARK_STRINGS.values())


def test_golden_longs():
    values = np.array(list(SPARK_LONGS), dtype=np.int64)
    assert hash_longs(values).tolist() == list(SPARK_LONGS.values())


@pytest.mark.slow(1)
def test_spark_agrees(spark):
    from pyspark.sql import functions as F

    rng = random.Random(7)  # noqa: S311 - not for secrets
    characters = "aé東😀"
    strings = [*SPARK_STRINGS, *("".join(rng.choices(characters, k=k % 40)) for k in range(200))]
    longs = [*SPARK_LONGS, *(rng.getrandbits(64) - 2**63 for _ in range(200))]
    rows = list(zip(strings, (longs * 2)[: len(strings)], strict=True))
    df = spark.createDataFrame(rows, "s string, n bigint")
    found = df.select("s", "n", F.xxhash64("s").alias("hs"), F.xxhash64("n").alias("hn")).toArrow()
    signed = hash_strings(found["s"]).view(np.int64)
    assert signed.tolist() == found["hs"].to_pylist()
    assert hash_longs(found["n"].to_numpy()).view(np.int64).tolist() == found["hn"].to_pylist()


def test_published_values_of_xxh64():
    """Values of the reference implementation: its own check, and the example of many libraries."""
    published = {
        (b"", 0): 0xEF46DB3751D8E999,
        (b"Nobody inspects the spammish repetition", 0): 0xFBCEA83C8A378BF1,
        (sanity_check(14), 0): 0xCFFA8DB881BC3A3D,
        (sanity_check(101), 0): 0x0EAB543384F878AD,
        (sanity_check(101), 2654435761): 0xCAA65939306F1E21,
    }
    values = pa.array([value for value, _ in published], pa.binary())
    hashes = hash_strings(values, np.array([seed for _, seed in published], np.uint64))
    assert hashes.tolist() == list(published.values())


def sanity_check(length):
    """Return the bytes with which the reference implementation checks itself."""
    generator, made = 2654435761, []
    for _ in range(length):
        made.append(generator >> 24)
        generator = generator * generator % 2**32
    return bytes(made)


@given(st.lists(st.tuples(st.binary(max_size=200), st.integers(0, 2**64 - 1))))
def test_values_are_hashed_with_their_seeds(seeded):
    values = pa.array([value for value, _ in seeded], pa.binary())
    seeds = np.array([seed for _, seed in seeded], dtype=np.uint64)
    expected = [xxhash.xxh64_intdigest(value, seed) for value, seed in seeded]
    assert hash_strings(values, seeds).tolist() == expected
    assert seeds.tolist() == [seed for _, seed in seeded]
    numbers = [xxhash.xxh64_intdigest(struct.pack("<q", seed >> 1), seed) for _, seed in seeded]
    assert hash_longs((seeds >> np.uint64(1)).view(np.int64), seeds).tolist() == numbers


@given(st.lists(texts, max_size=30))
def test_strings_are_hashed_as_the_library_does(keys):
    expected = [xxhash.xxh64_intdigest(key.encode(), SPARK_SEED) for key in keys]
    assert hash_strings(keys).tolist() == expected


@given(st.lists(st.one_of(st.none(), texts), max_size=30), st.integers(0, 5), st.integers(0, 30))
def test_any_arrow_array_is_hashed_as_its_values(keys, start, length):
    array = pa.array(keys, pa.string()).slice(start, length)
    each = [hash_strings([key])[0] if key is not None else SPARK_SEED for key in array.to_pylist()]
    assert hash_strings(array).tolist() == each
    chunks = pa.chunked_array([array, array.slice(1), array.slice(0, 0)], pa.string())
    assert hash_strings(chunks).tolist() == each + each[1:]


def test_more_texts_than_are_hashed_at_once():
    keys = [str(number) * (number % 50) for number in range(40_000)]
    expected = [xxhash.xxh64_intdigest(key.encode(), SPARK_SEED) for key in keys]
    assert hash_strings(keys).tolist() == expected


def test_nothing_to_hash():
    nothings: list[Any] = [[], pa.array([], pa.string()), pa.chunked_array([], pa.string())]
    for nothing in nothings:
        hashes = hash_strings(nothing)
        assert hashes.dtype == np.uint64
        assert len(hashes) == 0


def naive_mix(word, salt):
    word = (word + salt * 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD % 2**64
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return word ^ word >> 33


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(0, 1000))
def test_mix_is_its_formula(words, salt):
    mixed = mix(np.array(words, dtype=np.uint64), salt)
    assert mixed.tolist() == [naive_mix(word, salt) for word in words]


@pytest.mark.parametrize("salt", [0, 1, 2])
def test_mix_leaves_its_input_alone(salt):
    words = np.arange(5, dtype=np.uint64)
    mix(words, salt)
    assert words.tolist() == [0, 1, 2, 3, 4]


def test_murmur3_is_the_published_one():
    fox = "The quick brown fox jumps over the lazy dog"
    # The first 64 of the 128 bits that the reference implementation returns for seed 0: a negative
    # number, whose absolute value the papers' programs take.
    assert murmur3_strings([fox, ""], seed=0).tolist() == [(1 << 64) - 0xE34BBC7BBC071B6C, 0]
    arrow = pa.array([fox, "İstanbul"])
    assert murmur3_strings(arrow).tolist() == murmur3_strings(arrow.to_pylist()).tolist()
    assert len(murmur3_strings([])) == 0
