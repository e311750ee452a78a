"""Convert event times of records, in several notations, to timestamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.columns import TIMES
from evenkey.core.streams.splits.typed import NUMBER, WHOLE, quoted

_DAY = r"^\d{4}-\d{2}-\d{2}"
_CLOCK = r"[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?"
_WITHOUT_ZONE = rf"{_DAY}(?:{_CLOCK})?$"
_WITH_ZONE = rf"{_DAY}{_CLOCK}(?:Z|[+-]\d{{2}}:\d{{2}})$"
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""First and last microsecond of the years 1 to 9999, for which Spark has timestamps."""
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0), (np.inf, 1e-3))
"""For each unit, the size below which a number is in this unit, and the unit in microseconds."""
_IN_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
_DAY_MICROS = 86_400_000_000
_MOST = 1e20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_times(texts: pa.StringArray, column: str) -> tuple[pa.TimestampArray, pa.StringArray]:
    """Read times that are written as text.

    A time is written in ISO 8601 (``2026-11-22``, ``2026-11-22 10:00``,
    ``2026-11-22T10:00:00.5+01:00``) or as a number. A time without a time zone is in UTC. A number
    counts from 1970, in a unit that depends on the size of the number: seconds below 10^11,
    milliseconds below 10^14, microseconds below 10^17, otherwise nanoseconds.

    Returns
    -------
    tuple
        Two arrays as long as `texts`: the times, timestamp(us, UTC), null where a text is not a
        time; and the reasons why texts are not times, string, null where they are.

    Examples
    --------
    >>> times, faults = read_times(pa.array(["1577836800", "1577836800000", "soon", None]), "at")
    >>> times.cast(pa.int64()).to_pylist()
    [1577836800000000, 1577836800000000, None, None]
    >>> faults.to_pylist()
    [None, None, "the time 'soon' of at is no time", 'there is no time: at is empty']
    """
    texts = pc.utf8_trim_whitespace(texts)
    number = pc.fill_null(pc.match_substring_regex(texts, NUMBER), fill_value=False)
    micros = _numbers(pc.if_else(number, texts, pa.scalar(None, pa.string())))
    if not pc.all(number).as_py():
        written = pc.if_else(number, pa.scalar(None, pa.string()), texts)
        micros = pc.coalesce(micros, _of_iso(written))
    return _vetted(micros, texts, column)


def times_of(values: pa.Array, column: str) -> tuple[pa.TimestampArray, pa.StringArray]:
    """Convert a typed column to times; return the times and the reasons as `read_times` does.

    Dates, and timestamps without a time zone, are in UTC. Numbers and texts are read as in
    `read_times`.

    Raises
    ------
    pyarrow.ArrowNotImplementedError
        Values of this type are not times.
    """
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return read_times(values.cast(pa.string()), column)
    if pa.types.is_dictionary(kind):
        return times_of(values.cast(kind.value_type), column)
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            values, kind = values.cast(pa.timestamp("us", kind.tz), safe=False), pa.timestamp("us")
        values = values.cast(pa.int64())
        micros = _scaled(values, _IN_MICROS[kind.unit])
    elif pa.types.is_date(kind):
        days = values.cast(pa.date32(), safe=False).cast(pa.int32())
        micros = _scaled(days.cast(pa.int64()), _DAY_MICROS)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        micros = _of_numbers(values)
    else:
        message = f"{kind} holds no times: a time is a timestamp, a date, a number or a string"
        raise pa.ArrowNotImplementedError(message)
    return _vetted(micros, values, column)


def _numbers(texts: pa.StringArray) -> pa.Int64Array:
    """Convert numbers that are written as text to microseconds."""
    none = pa.scalar(None, pa.string())
    whole = pc.fill_null(pc.match_substring_regex(texts, WHOLE), fill_value=False)
    exact = _of_numbers(pc.if_else(whole, texts, none).cast(pa.int64()))
    if pc.all(pc.or_(whole, pc.is_null(texts))).as_py():
        return exact
    return pc.coalesce(exact, _of_numbers(pc.if_else(whole, none, texts).cast(pa.float64())))


def _of_numbers(values: pa.Array) -> pa.Int64Array:
    """Convert numbers to microseconds; a number's size determines its unit. Null if too large."""
    if pa.types.is_integer(values.type) and values.type != pa.uint64():
        given = values.cast(pa.int64())
        known = pc.fill_null(given, 0).to_numpy(zero_copy_only=False)
        size = np.abs(known)
        micros = np.select(
            [size < limit for limit, _ in _UNITS],
            [known * int(each) if each >= 1 else known // 1000 for _, each in _UNITS],
        )
        return pa.array(micros, mask=np.asarray(pc.is_null(given)))
    floats = values.cast(pa.float64(), safe=False)
    read = pc.fill_null(floats, np.nan).to_numpy(zero_copy_only=False)
    size = np.abs(read)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.select(
            [size < limit for limit, _ in _UNITS], [read * each for _, each in _UNITS]
        )
        good = size < _MOST
        micros = np.where(good, np.rint(found), 0).astype(np.int64)
    return pa.array(micros, mask=~good)


def _of_iso(texts: pa.StringArray) -> pa.Int64Array:
    """Convert ISO 8601 times to microseconds; null if a text is not such a time."""
    none = pa.scalar(None, pa.string())
    found = pa.nulls(len(texts), pa.int64())
    for pattern, zone in ((_WITHOUT_ZONE, None), (_WITH_ZONE, "UTC")):
        like = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
        try:
            times = pc.if_else(like, texts, none).cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue  # a text is not a time, such as the 31st of June
        found = pc.coalesce(found, times.cast(pa.int64()))
    rest = pc.is_null(pc.if_else(pc.is_null(texts), 0, found))
    if not pc.any(rest).as_py():
        return found
    read = [
        _micros_of(text) if unread else None
        for text, unread in zip(texts.to_pylist(), rest.to_pylist(), strict=True)
    ]
    return pc.coalesce(found, pa.array(read, pa.int64()))


def _micros_of(text: str) -> int | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = (read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH
    return since // timedelta(microseconds=1)


def _scaled(values: pa.Int64Array, factor: int) -> pa.Int64Array:
    """Convert values in a unit of `factor` microseconds to microseconds; null if too large."""
    inside = pc.less_equal(pc.abs_checked(pc.max_element_wise(values, -_LATEST)), _LATEST // factor)
    return pc.multiply(pc.if_else(inside, values, None), factor)


def _vetted(
    micros: pa.Int64Array, given: pa.Array, column: str
) -> tuple[pa.TimestampArray, pa.StringArray]:
    """Convert microseconds to timestamps; also return the reasons where there is no timestamp."""
    inside = pc.and_(pc.greater_equal(micros, _EARLIEST), pc.less_equal(micros, _LATEST))
    micros = pc.if_else(inside, micros, pa.scalar(None, pa.int64()))
    times = micros.cast(TIMES)
    if not micros.null_count:
        return times, pa.nulls(len(micros), pa.string())
    bad = np.flatnonzero(np.asarray(pc.is_null(micros)))
    faults = np.full(len(micros), None, dtype=object)
    for place, value in zip(bad, given.take(pa.array(bad)).to_pylist(), strict=True):
        faults[place] = f"the time {quoted(value)} of {column} is no time"
        if value is None or value == "":
            faults[place] = f"there is no time: {column} is empty"
    return times, pa.array(faults, pa.string())
