"""Event times: check windows, convert times to numbers, leave out rows in the future."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from evenkey.core.checking import check_text
from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.observed import observed_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming import StreamingQuery

FAR_AHEAD = "__evenkey_far_ahead"
"""Column that says whether the time of a row is so far ahead that the row is left out."""
_METRIC = "evenkey-far-ahead"
_SECONDS_A_DAY = 86_400.0
_DURATION = re.compile(
    r"(\d+\s+(week|day|hour|minute|second|millisecond|microsecond)s?(\s+|$))+", re.IGNORECASE
)


class Windows(NamedTuple):
    """The options of windows, as `evenkey.spark.aggregates.aggregation.aggregate` takes them."""

    time: str | None
    window: str | None
    watermark: str
    max_ahead: str | None

    def check(self, df: DataFrame) -> None:
        """Check that durations are valid, that a window has a time, and a stream has a window.

        Raises
        ------
        ConfigurationError
            A stream has no `window`, a `window` is given without `time`, or a duration is invalid.
        """
        window = self.window
        durations = {"window": window, "watermark": self.watermark, "max_ahead": self.max_ahead}
        for name, duration in durations.items():
            if duration is not None or name == "watermark":
                check_text(name, duration, "1 minute")
        if window is not None and self.time is None:
            message = f"window = {window!r} needs time=...: the timestamp column of the messages"
            raise ConfigurationError(message)
        for name, duration in durations.items():
            if duration is not None and not _DURATION.fullmatch(duration):
                message = f"{name} = {duration!r}: must be a duration, such as '1 minute'"
                raise ConfigurationError(message)
        if window is not None and not re.search("[1-9]", window):
            message = f"window = {window!r}: must be longer than 0"
            raise ConfigurationError(message)
        if df.isStreaming and window is None:
            message = (
                "a stream is aggregated in windows: pass window=... (such as '1 minute') and "
                "time=..."
            )
            raise ConfigurationError(message)


def latest_time(allowed: Column) -> Column:
    """Return the latest timestamp that is not further ahead of the processing time than allowed.

    Spark records the processing time of an epoch before the epoch runs. So all tasks of the epoch
    decide alike, also if the epoch runs again. The result for a row does not depend on other rows.

    Parameters
    ----------
    allowed
        Interval that is allowed; a month has 31 days.
    """
    # Spark adds an interval to the processing time anew for each row, by calendar and time zone. As
    # a number of microseconds it is a constant.
    micros = F.unix_micros(F.timestamp_micros(F.lit(0)) + allowed)
    return F.timestamp_micros(F.unix_micros(F.current_timestamp()) + micros)


def far_ahead(time: Column, allowed: Column) -> Column:
    """Return whether a timestamp is later than `latest_time`; null is not."""
    return F.coalesce(time > latest_time(allowed), F.lit(False))  # noqa: FBT003 - a value, not a flag


def without_far_ahead(df: DataFrame, time: Column, max_ahead: str) -> DataFrame:
    """Leave out the rows of a stream whose times are too far ahead; count them in its progress.

    Parameters
    ----------
    df
        A stream.
    time
        Timestamps of the stream's rows.
    max_ahead
        A valid duration, such as ``"1 hour"``; this function does not check it.
    """
    ahead = far_ahead(time, F.expr(f"INTERVAL {max_ahead}"))
    # Metrics of one query need different names.
    counted = df.observe(f"{_METRIC}-{uuid.uuid4()}", F.count_if(ahead).alias("rows"))
    return counted.filter(~ahead)


def rows_far_ahead(query: StreamingQuery) -> int:
    """Count the rows that `aggregate` left out because their times were too far ahead.

    Parameters
    ----------
    query
        Query of a stream that was aggregated with `max_ahead`; running or stopped.

    Returns
    -------
    int
        Number of rows in the epochs that ``query.recentProgress`` lists, which by Spark's default
        are the last hundred.

    Examples
    --------
    The query must have run an epoch before there is a number.

    >>> from evenkey.spark import aggregate
    >>> stream = spark.readStream.format("rate").load()
    >>> counts = aggregate(stream, "value", "kg", time="timestamp", window="1 minute")
    >>> query = counts.writeStream.format("memory").queryName("counts").start()  # doctest: +SKIP
    >>> rows_far_ahead(query)  # doctest: +SKIP
    0
    """
    return sum(
        figures.get("rows") or 0
        for progress in query.recentProgress
        for figures in observed_metrics(progress, _METRIC)
    )


def seconds_of(times: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Convert times to seconds since 1970, as Spark's cast of a timestamp to double does.

    Parameters
    ----------
    times
        Timestamps with or without a zone, dates, or numbers of seconds.

    Returns
    -------
    float64[n]
        Seconds since 1970; NaN where the time is null.
    """
    if pa.types.is_date(times.type):
        seconds = pc.multiply(times.cast(pa.int32()).cast(pa.float64()), _SECONDS_A_DAY)
    elif pa.types.is_timestamp(times.type):
        micros = times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())
        # Unsafe: after the year 2255 a float64 cannot represent every microsecond.
        seconds = pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
    else:
        seconds = times.cast(pa.float64(), safe=False)
    return np.asarray(seconds, dtype=np.float64)
