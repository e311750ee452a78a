"""A sample of the keys of a user's DataFrame.

This module does not import PySpark: a caller who passes a DataFrame has already imported PySpark.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evenkey.core.checking import columns_listed, shown, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.streams import MessageBatch
from evenkey.reports.advice.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SPAN_SECONDS = 400.0
_SEED = 0


def sample_of_frame(
    df: Any, key: str | Sequence[str], rows: int = 1_000_000, columns: Sequence[str] = ()
) -> Sample:
    """Read the keys of a batch DataFrame, or of a random sample of its rows.

    Parameters
    ----------
    df
        A batch DataFrame of a classic session or of Spark Connect. It is read twice: once to count
        its rows, once to read the keys.
    key
        Key column, or columns that together form the key. Null is a key like any other.
    rows
        Approximate maximum number of rows to read.
    columns
        Other columns that the DataFrame must have, such as the columns that an aggregator reads.

    Raises
    ------
    ConfigurationError
        `df` is not a batch DataFrame, lacks a column, or has no rows.
    """
    whole_number("rows", rows, 1)
    names = _names(df, key)
    _check_columns(df, columns)
    total = int(df.count())
    if not total:
        message = "the DataFrame has no row: there is nothing to measure"
        raise ConfigurationError(message)
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    keys = df.select(*(df[name].cast("string") for name in quoted)).toDF(
        *map(str, range(len(names)))
    )
    if total > rows:
        keys = keys.sample(fraction=rows / total, seed=_SEED)
    texts, ids = _coded(keys.toArrow())
    if not len(ids):
        message = f"rows = {rows}: none of {total} rows was drawn; pass a larger number"
        raise ConfigurationError(message)
    times = np.arange(len(ids), dtype=np.float64) * (_SPAN_SECONDS / len(ids))
    hashes = hash_strings(texts)[ids]
    batch = MessageBatch(ids, hashes, np.ones(len(ids), np.int64), times)
    return Sample("DataFrame", batch, texts, len(ids), total)


def spelled(names: str | Sequence[str]) -> str:
    """Write column names as one line of CSV, the form that `read_names` reads.

    Examples
    --------
    >>> spelled(["last, first", "age"])
    '"last, first",age'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([names] if isinstance(names, str) else names)
    return text.getvalue()


def _names(df: Any, key: object) -> list[str]:
    if not all(hasattr(df, each) for each in ("columns", "isStreaming", "toArrow")):
        message = f"sample = {shown(df)}: must be a Sample or a Spark DataFrame"
        raise ConfigurationError(message)
    if df.isStreaming:
        message = "the DataFrame is a stream; pass a batch, such as some minutes of the stream"
        raise ConfigurationError(message)
    names = [key] if isinstance(key, str) else list(key) if isinstance(key, list | tuple) else []
    if not names or not all(isinstance(each, str) for each in names):
        message = f"key = {shown(key)}: name the key's column, or several in a list"
        raise ConfigurationError(message)
    _check_columns(df, names)
    return names


def _check_columns(df: Any, names: Sequence[str]) -> None:
    for name in names:
        if name not in df.columns:
            message = f"no column {name!r}: the DataFrame has {columns_listed(df.columns)}"
            raise ConfigurationError(message)


def _coded(table: pa.Table) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """Return the texts of the distinct keys, and for each row the index of its key in these texts.

    A key of several columns becomes a JSON list, as in samples of files.
    """
    codes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * max(1, len(coded.dictionary)) + coded.indices.to_numpy()
        # Codes are renumbered after each column, because the product of the numbers of distinct
        # values of many columns would overflow 64 bits.
        codes = np.unique(codes, return_inverse=True)[1]
    _, first, ids = np.unique(codes, return_index=True, return_inverse=True)
    columns = [column.to_pylist() for column in table.take(pa.array(first)).columns]
    if len(columns) == 1:
        return pa.array(columns[0], pa.string()), ids
    texts = [
        json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        for parts in zip(*columns, strict=True)
    ]
    return pa.array(texts, pa.string()), ids
