"""Make records to send to a topic from a dataset or the lines of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import SPAN_SECONDS, LineIndex, check_input, find_files, generated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import KeyStream

ValueFormat = Literal["lines", "json"]

_BATCH = 1 << 16


class Record(NamedTuple):
    """A record that `produce` sends.

    Parameters
    ----------
    key
        Key; None: the record has no key.
    value
        Value.
    seconds
        Event time in seconds after the first record.

    Examples
    --------
    >>> Record(b"ann", b"click", 0.5).seconds
    0.5
    """

    key: bytes | None
    value: bytes
    seconds: float


class Records(NamedTuple):
    """Records to send.

    Parameters
    ----------
    name
        Name of the dataset, or path of the files.
    records
        The records, in order of event time.
    total
        Number of records.
    seconds
        Seconds of event time that the records span.
    """

    name: str
    records: Iterator[Record]
    total: int
    seconds: float


def dataset_records(stream: KeyStream, form: ValueFormat = "lines") -> Iterator[Record]:
    """Make the records of a dataset.

    Parameters
    ----------
    stream
        The dataset.
    form
        ``lines``: the value of a record is the text of the message's key. ``json``: the value is a
        JSON object with ``key`` and ``count``. In both formats, the key of the record is the text
        of the message's key.

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> next(dataset_records(generated("country-skew-r100", messages=10)))
    Record(key=b'Turkey', value=b'Turkey', seconds=0.0)
    """
    for batch in stream.batches(_BATCH):
        for text, count, seconds in zip(
            stream.texts(batch.ids).to_pylist(),
            batch.counts.tolist(),
            batch.times.tolist(),
            strict=True,
        ):
            key = text.encode()
            if form == "json":
                value = json.dumps({"key": text, "count": count}, ensure_ascii=False).encode()
            else:
                value = key
            yield Record(key, value, seconds)


def line_records(index: LineIndex, lines: int, per_second: float) -> Iterator[Record]:
    """Make a record from each line of files: the value is the line without its line end.

    Parameters
    ----------
    index
        Index of the lines of the files. The lines are not parsed.
    lines
        Number of lines to read, from the first one on.
    per_second
        Lines per second of event time.
    """
    for begin in range(0, lines, _BATCH):
        values = index.read(begin, min(lines, begin + _BATCH)).to_pylist()
        for number, line in enumerate(values, start=begin):
            yield Record(None, line, number / per_second)


def find_records(
    source: str,
    *,
    form: ValueFormat = "lines",
    messages: int | None = None,
    seed: int = 0,
    rate: float | None = None,
) -> Records:
    """Find the records of a dataset or of files.

    Parameters
    ----------
    source
        Name of a dataset, or path of files with lines: a file, a directory or a glob.
    form
        As for `dataset_records`.
    messages
        Number of messages, from the first message on. None: all messages.
    seed
        Seed of the random numbers. Another seed yields another stream of the same dataset.
    rate
        Messages per second of event time. None: the rate at which all messages span 400 s.

    Raises
    ------
    ConfigurationError
        There is no such file or dataset, or it is empty. Or `form` is ``lines`` and the dataset has
        weights, which lines cannot represent.
    """
    if not (Path(source).exists() or _like_a_path(source)):
        stream = generated(source, messages=messages, seed=seed, rate=rate)
        if stream.weighs and form == "lines":
            message = (
                f"format = 'lines': lines contain only keys, but messages of {stream.name} have "
                "weights: pass --format json"
            )
            raise ConfigurationError(message)
        seconds = stream.length / stream.per_second
        return Records(stream.name, dataset_records(stream, form), stream.length, seconds)
    check_input([Path(source)])
    index = LineIndex.build(find_files([source]))
    lines = index.lines if messages is None else min(index.lines, messages)
    per_second = lines / SPAN_SECONDS if rate is None else rate
    return Records(source, line_records(index, lines, per_second), lines, lines / per_second)


def _like_a_path(source: str) -> bool:
    """Return whether a text looks like a path: the names of datasets contain no dot."""
    return "/" in source or ("." in source and "(" not in source)
