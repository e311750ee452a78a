"""Generated datasets: summarize the skew of a dataset, and write a dataset to a file."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.suffixes import split_of_suffix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from evenkey.core.streams.base import KeyStream, MessageBatch
    from evenkey.core.streams.published import Published

DatasetFormat = Literal["lines", "csv", "json", "parquet"]

_BATCH_MESSAGES = 1 << 18
_SCHEMA = pa.schema([("key", pa.string()), ("count", pa.int64()), ("time", pa.float64())])


@dataclass(frozen=True)
class DatasetSummary:
    """The size of a stream and its hottest keys.

    Parameters
    ----------
    messages, keys
        Number of messages, and number of distinct keys that occur.
    weight
        Weight of all messages; equal to `messages` if each message weighs 1.
    seconds
        Event time that the stream spans, in seconds.
    top
        The hottest keys with the weight of their messages, hottest first.
    published
        Figures of the published data set that the stream imitates. None: the stream imitates no
        data set.
    """

    dataset: str
    messages: int
    weight: int
    keys: int
    seconds: float
    top: tuple[tuple[str, int], ...]
    published: Published | None = None

    def to_json(self) -> dict[str, Any]:
        """Convert the figures to values for JSON; each key also gets its share of the weight."""
        return {
            "dataset": self.dataset,
            "messages": self.messages,
            "weight": self.weight,
            "keys": self.keys,
            "seconds": self.seconds,
            "top": [
                {"key": key, "weight": count, "share_percent": 100 * count / self.weight}
                for key, count in self.top
            ],
            "published": None if self.published is None else self.published.to_json(),
        }


def summarize_dataset(
    stream: KeyStream, *, top: int = 10, on_progress: Callable[[int], None] | None = None
) -> DatasetSummary:
    """Count the keys of a stream exactly.

    Parameters
    ----------
    stream
        The stream, which is generated once.
    top
        Number of hottest keys to list.
    on_progress
        Called with the number of messages so far. None: never.

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> summarize_dataset(generated("country-skew-r80", messages=1000), top=1).top
    (('Turkey', 776),)
    """
    counts = np.zeros(stream.key_count, dtype=np.int64)
    for batch in _batches(stream, on_progress):
        np.add.at(
            counts, batch.ids, batch.counts
        )  # not bincount: there may be far more keys than messages
    # Keys with equal counts stay in the order of ids, so that a stream always gives the same list.
    hottest = np.argsort(-counts, kind="stable")[:top]
    hottest = hottest[counts[hottest] > 0]
    names = stream.texts(hottest).to_pylist()
    return DatasetSummary(
        stream.name,
        stream.length,
        int(counts.sum()),
        int(np.count_nonzero(counts)),
        stream.length / stream.per_second,
        tuple(zip(names, counts[hottest].tolist(), strict=True)),
        stream.published,
    )


def write_dataset(
    stream: KeyStream,
    file: Path,
    form: DatasetFormat | None = None,
    *,
    overwrite: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> DatasetFormat:
    """Write a stream to a file that a pipeline can read; the file appears when it is complete.

    Parameters
    ----------
    stream
        Stream to write.
    file
        File to write; directories are made as needed.
    form
        ``lines`` writes one key per line; ``csv``, ``json`` (one object per line) and ``parquet``
        write ``key``, ``count`` and ``time`` (seconds). None: the format that the suffix of `file`
        stands for.
    overwrite
        Whether to replace an existing file.
    on_progress
        Called with the number of messages so far. None: never.

    Returns
    -------
    str
        The format written.

    Raises
    ------
    ConfigurationError
        The file exists already or cannot be written, or the format cannot hold the stream's
        weights.
    """
    if file.exists() and not overwrite:
        message = f"output {file} exists: choose another file, or pass overwrite to replace it"
        raise ConfigurationError(message)
    chosen: Any = form or split_of_suffix(file)
    if chosen not in _WRITERS:
        message = (
            f"output {file}: datasets cannot be written as {chosen}; pass another format: "
            f"{', '.join(_WRITERS)}"
        )
        raise ConfigurationError(message)
    if stream.weighs and chosen == "lines":
        message = (
            f"output {file}: lines hold keys only, and messages of {stream.name} have weights: "
            "write csv, json or parquet"
        )
        raise ConfigurationError(message)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _replaced(file) as target, _WRITERS[chosen](target) as writer:
            for batch in _batches(stream, on_progress):
                columns = [stream.texts(batch.ids), batch.counts, batch.times]
                writer.write_table(pa.table(columns, schema=_SCHEMA))
    except OSError as error:
        message = f"output {file} cannot be written ({error.strerror}): choose another file"
        raise ConfigurationError(message) from error
    written: DatasetFormat = chosen
    return written


def _batches(
    stream: KeyStream, on_progress: Callable[[int], None] | None
) -> Iterator[MessageBatch]:
    done = 0
    for batch in stream.batches(_BATCH_MESSAGES):
        yield batch
        done += len(batch.ids)
        if on_progress is not None:
            on_progress(done)


@contextlib.contextmanager
def _replaced(file: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file, which replaces `file` at the end if there was no error."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(descriptor, "wb") as target:  # noqa: PTH123 - it is open already
            yield target
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class _Writer(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> object: ...

    def write_table(self, table: pa.Table) -> None: ...


class _TextWriter:
    """Writes one line of text per message."""

    def __init__(self, target: IO[bytes], lines: Callable[[pa.Table], pa.ChunkedArray]) -> None:
        self._target = target
        self._lines = lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        del error

    def write_table(self, table: pa.Table) -> None:
        self._target.write(("\n".join(self._lines(table).to_pylist()) + "\n").encode())


def _objects(table: pa.Table) -> pa.ChunkedArray:
    keys = table["key"].combine_chunks().dictionary_encode()
    quoted = pa.array([json.dumps(key, ensure_ascii=False) for key in keys.dictionary.to_pylist()])
    counts, times = (pc.cast(table[name], pa.string()) for name in ("count", "time"))
    head, middle, tail = '{"key": ', ', "count": ', ', "time": '
    return pc.binary_join_element_wise(
        head, quoted.take(keys.indices), middle, counts, tail, times, "}", ""
    )


_WRITERS: dict[DatasetFormat, Callable[[IO[bytes]], _Writer]] = {
    "lines": lambda target: _TextWriter(target, lambda table: table["key"]),
    "csv": lambda target: pacsv.CSVWriter(target, _SCHEMA),
    "json": lambda target: _TextWriter(target, _objects),
    "parquet": lambda target: pq.ParquetWriter(target, _SCHEMA),
}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
