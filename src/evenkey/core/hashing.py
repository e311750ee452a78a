"""Hashes of keys, the same in Python, in the simulator and in Spark.

The hash of a key is XXH64 with seed 42, which is Spark's ``xxhash64``. `mix` derives further hash
functions from this hash. The papers use MurmurHash3 instead. This module has it too, so that
results can be compared with the papers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evenkey.core.extras import load_extra

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

SPARK_SEED = 42
"""Seed of Spark's ``xxhash64``."""

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_STRIPE = 32  # bytes; XXH64 reads a text in stripes, then the rest in smaller parts
_STEP = 1 << 14  # texts hashed together; their intermediate results fit the CPU cache
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)


def hash_strings(
    keys: Iterable[str] | pa.Array, seeds: ArrayLike = SPARK_SEED
) -> NDArray[np.uint64]:
    """Hash texts as Spark's ``xxhash64`` of a string column does.

    Parameters
    ----------
    keys
        n texts or, in an Arrow array, n texts or binary values. A null hashes to its seed, as in
        Spark.
    seeds
        uint64[n], seed of each text. With several columns, Spark takes the hash of the previous
        columns as the seed. Default: 42 for each text, as for Spark's first column.

    Returns
    -------
    uint64[n]
        XXH64 of the UTF-8 bytes of each text. Spark returns the same bits as a signed bigint.

    Examples
    --------
    >>> [int(each) for each in hash_strings(["Turkey", ""])]
    [14554911762507370684, 11002672306508523268]
    """
    if isinstance(keys, pa.ChunkedArray):
        chunks = keys.chunks
    else:
        chunks = [keys if isinstance(keys, pa.Array) else pa.array(keys, pa.string())]
    every = np.broadcast_to(np.asarray(seeds, dtype=np.uint64), sum(map(len, chunks)))
    hashes = np.empty(len(every), dtype=np.uint64)
    first = 0
    for chunk in chunks:
        for start in range(0, len(chunk), _STEP):
            texts = chunk.slice(start, _STEP).cast(pa.large_binary())
            rows = slice(first, first + len(texts))
            hashes[rows] = _hash_bytes(texts, every[rows])
            first += len(texts)
    return hashes


def hash_longs(values: NDArray[np.int64], seeds: ArrayLike = SPARK_SEED) -> NDArray[np.uint64]:
    """Hash integers as Spark's ``xxhash64`` of a bigint column does.

    Parameters
    ----------
    values
        int64[n].
    seeds
        uint64[n], seed of each value, as for `hash_strings`.

    Returns
    -------
    uint64[n]
        XXH64 of the eight little-endian bytes of each value.

    Examples
    --------
    >>> [int(each) for each in hash_longs(np.array([0, -1]))]
    [13194218611613725804, 3858142552250413010]
    """
    words = np.asarray(values, dtype=np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        begun = np.asarray(seeds, dtype=np.uint64) + _PRIME_5 + np.uint64(words.itemsize)
        return _avalanche(_take_word(begun, words))


def murmur3_strings(texts: Iterable[str] | pa.Array, seed: int = 13) -> NDArray[np.uint64]:
    """Hash texts as the papers' programs do: MurmurHash3, the 128-bit variant for 64-bit machines.

    The programs take the absolute value of the hash before they divide it by the number of workers.
    So does this function: ``hash % W`` is then the programs' worker, also of a negative hash.
    It is much slower than `hash_strings`. So hash each key once, not each message.

    Parameters
    ----------
    texts
        n texts; a null has the hash of the empty text.
    seed
        Seed of the hash. The default, 13, is the first seed in the program of the PKG paper, and
        the only seed in the program of the DKG paper.

    Returns
    -------
    uint64[n]
        The absolute value of the first 64 bits, a signed number, of the hash of each text's UTF-8
        bytes.

    Examples
    --------
    >>> [f"{int(each):016x}" for each in murmur3_strings(["Turkey", ""])]
    ['05ef710f9679d8c9', '5ef1574dd89d66a6']
    """
    mmh3 = load_extra("mmh3", "cli", "MurmurHash3")
    values = texts.to_pylist() if isinstance(texts, pa.Array) else list(texts)
    hashes = (abs(mmh3.hash64(text or "", seed)[0]) for text in values)
    return np.fromiter(hashes, np.uint64, len(values))


def mix(hashes: NDArray[np.uint64], salt: int) -> NDArray[np.uint64]:
    """Derive new hashes from hashes, with the hash function that has the number `salt`.

    `mix` applies the 64-bit finalizer of MurmurHash3 to ``hash + salt * 0x9E3779B97F4A7C15``. The
    compiled functions of the groupings compute the same hashes.

    Parameters
    ----------
    hashes
        uint64[n].
    salt
        Number of the derived hash function, at least 0.

    Returns
    -------
    uint64[n]

    Examples
    --------
    >>> [f"{int(mix(np.array([7], dtype=np.uint64), salt)[0]):016x}" for salt in (0, 1)]
    ['740729cbe468d1dd', '12b56a2136f84755']
    """
    with np.errstate(over="ignore"):
        mixed = hashes + np.uint64(salt) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(33))) * _MIX_1
        mixed = (mixed ^ (mixed >> np.uint64(33))) * _MIX_2
    return mixed ^ (mixed >> np.uint64(33))


def _hash_bytes(texts: pa.LargeBinaryArray, seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash texts: first the stripes of all texts, then texts whose rests have the same length."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    content = np.frombuffer(data or b"", dtype=np.uint8)
    lengths = np.diff(ends)
    valid = texts.is_valid().to_numpy(zero_copy_only=False)
    hashes = seeds.copy()
    with np.errstate(over="ignore"):
        begun = seeds + _PRIME_5
        long = np.flatnonzero(valid & (lengths >= _STRIPE))
        if len(long):
            begun[long] = _hash_stripes(content, ends[long], lengths[long] // _STRIPE, seeds[long])
        begun += lengths.astype(np.uint64)
        rests = lengths % _STRIPE
        for length in np.flatnonzero(np.bincount(rests[valid])):
            rows = np.flatnonzero(valid & (rests == length))
            parts = content[ends[rows + 1, None] + np.arange(-length, 0)]
            hashes[rows] = _avalanche(_take_rest(begun[rows], parts))
    return hashes


def _hash_stripes(
    content: NDArray[np.uint8],
    begins: NDArray[np.int64],
    counts: NDArray[np.int64],
    seeds: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """Hash the first ``counts[i]`` stripes, at least 1, of each text i."""
    most_first = np.argsort(-counts, kind="stable")
    begins, seeds = begins[most_first], seeds[most_first]
    # The word at each offset of the content; most words are not aligned.
    words = np.ndarray((len(content) - 7,), "<u8", content, strides=(1,))
    places = begins[:, None] + np.arange(0, _STRIPE, 8)
    lanes = np.stack(
        (seeds + _PRIME_1 + _PRIME_2, seeds + _PRIME_2, seeds, seeds - _PRIME_1), axis=1
    )
    # Texts with more stripes come first, so those that have one with this number are a slice.
    for number, texts in enumerate(np.cumsum(np.bincount(counts)[::-1])[-2::-1].tolist()):
        read = words[places[:texts] + number * _STRIPE]
        lanes[:texts] = _rotate(lanes[:texts] + read * _PRIME_2, 31) * _PRIME_1
    hashes = np.zeros(len(counts), dtype=np.uint64)
    for lane, bits in zip(lanes.T, (1, 7, 12, 18), strict=True):
        hashes += _rotate(lane, bits)
    for lane in lanes.T:
        hashes = (hashes ^ (_rotate(lane * _PRIME_2, 31) * _PRIME_1)) * _PRIME_1 + _PRIME_4
    merged = np.empty_like(hashes)
    merged[most_first] = hashes
    return merged


def _take_rest(hashes: NDArray[np.uint64], rests: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Continue the hash of n texts with their last bytes, uint8[n, length], length < 32."""
    length = rests.shape[1]
    words, half = length // 8, length % 8 // 4
    by_words = np.ascontiguousarray(rests[:, : words * 8]).view("<u8").T
    by_halves = np.ascontiguousarray(rests[:, words * 8 :][:, : half * 4]).view("<u4").T
    for word in by_words:
        hashes = _take_word(hashes, word)
    for part in by_halves:
        hashes = _rotate(hashes ^ (part * _PRIME_1), 23) * _PRIME_2 + _PRIME_3
    for byte in rests[:, words * 8 + half * 4 :].T:
        hashes = _rotate(hashes ^ (byte * _PRIME_5), 11) * _PRIME_1
    return hashes


def _take_word(hashes: NDArray[np.uint64] | np.uint64, words: Any) -> NDArray[np.uint64]:
    mixed = hashes ^ (_rotate(words * _PRIME_2, 31) * _PRIME_1)
    return _rotate(mixed, 27) * _PRIME_1 + _PRIME_4


def _avalanche(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _PRIME_2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _PRIME_3
    return hashes ^ (hashes >> np.uint64(32))


def _rotate(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
