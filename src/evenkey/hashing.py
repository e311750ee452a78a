"""Hashes of keys, the same in Python, in the simulator and in Spark.

The hash of a key is XXH64 with seed 42, which is Spark's ``xxhash64``. Further hash functions
derive from it by an integer mix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import xxhash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["SPARK_SEED", "hash_longs", "hash_strings", "mix"]

SPARK_SEED = 42
"""Seed of Spark's ``xxhash64``."""

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)


def hash_strings(keys: Iterable[str] | pa.Array) -> NDArray[np.uint64]:
    """Hash texts as Spark's ``xxhash64`` of a string column does.

    Parameters
    ----------
    keys
        n texts; a null in an Arrow array hashes to the seed, as in Spark.

    Returns
    -------
    uint64[n]
        XXH64, seed 42, of the UTF-8 bytes. The same bits as Spark's signed bigint.

    Examples
    --------
    >>> [int(each) for each in hash_strings(["Turkey", ""])]
    [14554911762507370684, 11002672306508523268]
    """
    texts = keys.to_pylist() if isinstance(keys, pa.Array | pa.ChunkedArray) else keys
    digest, seed = xxhash.xxh64_intdigest, SPARK_SEED
    hashes = (seed if text is None else digest(text.encode(), seed) for text in texts)
    return np.fromiter(hashes, dtype=np.uint64)


def hash_longs(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash integers as Spark's ``xxhash64`` of a bigint column does.

    Parameters
    ----------
    values
        int64[n].

    Returns
    -------
    uint64[n]
        XXH64, seed 42, of the eight little-endian bytes.

    Examples
    --------
    >>> [int(each) for each in hash_longs(np.array([0, -1]))]
    [13194218611613725804, 3858142552250413010]
    """
    words = np.asarray(values, dtype=np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        hashes = _rotate(words * _PRIME_2, 31) * _PRIME_1
        hashes ^= np.uint64(SPARK_SEED + 8) + _PRIME_5
        hashes = _rotate(hashes, 27) * _PRIME_1 + _PRIME_4
        hashes = (hashes ^ (hashes >> np.uint64(33))) * _PRIME_2
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _PRIME_3
    return hashes ^ (hashes >> np.uint64(32))


def mix(hashes: NDArray[np.uint64], salt: int) -> NDArray[np.uint64]:
    """Derive hash function number `salt` from a hash.

    It is murmur3's 64-bit finisher of ``hash + salt * 0x9E3779B97F4A7C15``; the groupings'
    kernels compute the same.

    Parameters
    ----------
    hashes
        uint64[n].
    salt
        Which of the derived functions, at least 0.

    Returns
    -------
    uint64[n]

    Examples
    --------
    >>> int(mix(np.array([1], dtype=np.uint64), 1)[0]) != int(mix(np.array([1], np.uint64), 2)[0])
    True
    """
    with np.errstate(over="ignore"):
        mixed = hashes + np.uint64(salt) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(33))) * _MIX_1
        mixed = (mixed ^ (mixed >> np.uint64(33))) * _MIX_2
    return mixed ^ (mixed >> np.uint64(33))


def _rotate(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
