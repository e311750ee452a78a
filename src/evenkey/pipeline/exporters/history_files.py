"""Records as Parquet files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.metrics import FIGURES
from evenkey.pipeline.exporters.epoch_record import EpochRecord, HotKey

if TYPE_CHECKING:
    from evenkey.core.metrics import Figure

VERSION = 1
"""Of a history; raised where names or meanings of columns change."""

_MARK = b"evenkey.history"
_WORKERS = pa.list_(pa.int64())
_HOT_KEYS = pa.list_(
    pa.struct({"key": pa.string(), "messages": pa.int64(), "pool": _WORKERS, "held": _WORKERS})
)


def encoded(record: EpochRecord) -> bytes:
    """Give a record as a Parquet file of one row, a column for each of its figures."""
    columns = [
        ("epoch", pa.int64()),
        ("ended", pa.float64()),
        *((name, _type(FIGURES[name])) for name in record.figures),
        ("hottest", _HOT_KEYS),
    ]
    schema = pa.schema(columns, metadata={_MARK: str(VERSION).encode()})
    hottest = [asdict(each) for each in record.hottest]
    row = {"epoch": record.epoch, "ended": record.ended, **record.figures, "hottest": hottest}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row], schema=schema), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def check_version(version: int, file: str) -> None:
    """Refuse what another version wrote.

    Raises
    ------
    ValueError
        It did.
    """
    if version != VERSION:
        message = (
            f"{file} is of version {version}: this evenkey reads version {VERSION}; read it with "
            "the one that wrote it"
        )
        raise ValueError(message)


def read_record(content: bytes, file: str) -> EpochRecord:
    """Read a record.

    Parameters
    ----------
    content
        Of its file.
    file
        Where that lies, for the message.

    Raises
    ------
    ValueError
        It cannot be read, or another version wrote it.
    """
    parquet = pq.ParquetFile(pa.BufferReader(content))
    check_version(int((parquet.schema_arrow.metadata or {}).get(_MARK, b"0")), file)
    (row,) = parquet.read().to_pylist()
    hottest = tuple(
        HotKey(each["key"], each["messages"], tuple(each["pool"]), tuple(each["held"]))
        for each in row.pop("hottest")
    )
    epoch, ended = row.pop("epoch"), row.pop("ended")
    # A figure that is declared no more has no meaning to anybody.
    figures = {n: tuple(v) if isinstance(v, list) else v for n, v in row.items() if n in FIGURES}
    return EpochRecord(epoch, ended, figures, hottest)


def _type(figure: Figure) -> pa.DataType:
    number = pa.int64() if figure.whole else pa.float64()
    return pa.list_(number) if figure.by_worker else number
