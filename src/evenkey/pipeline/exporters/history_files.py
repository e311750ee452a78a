"""Convert the records of epochs to Parquet files and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.metrics import FIGURES
from evenkey.pipeline.exporters.epoch_record import EpochRecord, HotKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.metrics import Figure

VERSION = 2
"""Version of a history's format; increased when names or meanings of columns change."""

_MARK = b"evenkey.history"
_WORKERS = pa.list_(pa.int64())
_HOT_KEYS = pa.list_(
    pa.struct(
        {
            "key": pa.string(),
            "messages": pa.int64(),
            "pool": _WORKERS,
            "held": _WORKERS,
            "run_workers": pa.int64(),
        }
    )
)


def encoded(record: EpochRecord) -> bytes:
    """Convert a record to the content of a Parquet file: one row, with one column per figure."""
    columns = [
        ("epoch", pa.int64()),
        ("ended", pa.float64()),
        *((name, _type(FIGURES[name])) for name in record.figures),
        ("hottest", _HOT_KEYS),
        ("owners", _WORKERS),
    ]
    schema = pa.schema(columns, metadata={_MARK: str(VERSION).encode()})
    hottest = [asdict(each) for each in record.hottest]
    row = {
        "epoch": record.epoch,
        "ended": record.ended,
        **record.figures,
        "hottest": hottest,
        "owners": record.owners,
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row], schema=schema), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def check_version(version: int, file: str) -> None:
    """Check that a file has the format version that this version of evenkey reads.

    Raises
    ------
    ValueError
        The file has another version.
    """
    if version != VERSION:
        message = (
            f"{file} has version {version} of the history format, but this evenkey reads version "
            f"{VERSION}: read the file with the version of evenkey that wrote it"
        )
        raise ValueError(message)


def read_record(content: bytes, file: str) -> EpochRecord:
    """Convert the content of a Parquet file back to the record of an epoch.

    Parameters
    ----------
    content
        Content of the file.
    file
        Path of the file, for error messages.

    Raises
    ------
    ValueError
        The content cannot be read, or has another version of the format.
    """
    try:
        parquet = pq.ParquetFile(pa.BufferReader(content))
        check_version(int((parquet.schema_arrow.metadata or {}).get(_MARK, b"0")), file)
        (row,) = parquet.read().to_pylist()
        hottest = tuple(map(_hot_key, row.pop("hottest")))
        epoch, ended, owners = row.pop("epoch"), row.pop("ended"), tuple(row.pop("owners"))
    except (pa.ArrowException, LookupError, TypeError) as error:
        message = f"{file} is no record of an epoch ({type(error).__name__}: {error})"
        raise ValueError(message) from error
    # Drop figures that are no longer declared: readers would not know their meaning.
    figures = {n: tuple(v) if isinstance(v, list) else v for n, v in row.items() if n in FIGURES}
    return EpochRecord(epoch, ended, figures, hottest, owners)


def _hot_key(kept: Mapping[str, Any]) -> HotKey:
    pool, held = tuple(kept["pool"]), tuple(kept["held"])
    # An older evenkey kept only the workers of the epoch, which are all that is known then.
    return HotKey(kept["key"], kept["messages"], pool, held, kept.get("run_workers", len(pool)))


def _type(figure: Figure) -> pa.DataType:
    number = pa.int64() if figure.whole else pa.float64()
    return pa.list_(number) if figure.by_worker else number
