"""Convert records to InfluxDB's line protocol.

An epoch gives points of three measurements: ``evenkey_epoch`` (one point), ``evenkey_worker`` (one
point per worker) and ``evenkey_hot_key`` (one point per hot key, by rank). A key is a field and not
a tag: InfluxDB indexes each value of a tag as a series, and the number of keys is unbounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.pipeline.exporters.epoch_record import EpochRecord, RunInfo

_TAG_SPECIAL = re.compile(r"([,= ])")
_FIELD_SPECIAL = re.compile(r'(["\\])')


def lines(run: RunInfo, record: EpochRecord) -> list[str]:
    """Convert a record to lines, one per point; the time of each point is the end of the epoch."""
    tags = {"run": run.run, "dataset": run.dataset, "grouping": run.grouping}
    at = round(1000 * record.ended)
    points = [line("evenkey_epoch", tags, {"epoch": record.epoch, **record.numbers()}, at)]
    by_worker = record.by_worker()
    # Write only workers that all figures have: the run may have continued with more or fewer
    # workers.
    for worker in range(min(map(len, by_worker.values()), default=0)):
        fields = {name: values[worker] for name, values in by_worker.items()}
        points.append(line("evenkey_worker", {**tags, "worker": str(worker)}, fields, at))
    for rank, hot in enumerate(record.hottest, start=1):
        figures: dict[str, str | float] = {
            "key": hot.key,
            "messages": hot.messages,
            "share_percent": record.share_percent(hot),
            "pool": len(hot.pool),
            "run_workers": hot.run_workers,
            "workers": " ".join(map(str, hot.pool)),
        }
        points.append(line("evenkey_hot_key", {**tags, "rank": str(rank)}, figures, at))
    return points


def line(
    measurement: str, tags: Mapping[str, str], fields: Mapping[str, str | float], at: int
) -> str:
    r"""Return one point as a line.

    Parameters
    ----------
    measurement
        Name of the measurement, without commas and blanks.
    tags
        Tags by name. The protocol does not allow empty values, line ends and backslashes in tags:
        empty values are left out, line ends become blanks, and backslashes become slashes.
    fields
        Fields by name, at least one; an int is written as an integer.
    at
        Time of the point, in milliseconds since 1970.

    Examples
    --------
    >>> line("load", {"grouping": "pkg(choices=3)"}, {"messages": 7, "share": 0.5, "key": "a b"}, 9)
    'load,grouping=pkg(choices\\=3) messages=7i,share=0.5,key="a b" 9'
    """
    head = ",".join([measurement, *(f"{name}={_tag(text)}" for name, text in tags.items() if text)])
    body = ",".join(f"{name}={_field(value)}" for name, value in fields.items())
    return f"{head} {body} {at}"


def _tag(text: str) -> str:
    # A backslash escapes a following comma, blank or equals sign, and elsewhere stands for itself.
    # To avoid this ambiguity, backslashes are replaced.
    plain = " ".join(text.splitlines()).replace("\\", "/")
    return _TAG_SPECIAL.sub(r"\\\1", plain)


def _field(value: str | float) -> str:
    if isinstance(value, str):
        text = _FIELD_SPECIAL.sub(r"\\\1", value)
        return f'"{text}"'
    return f"{value}i" if isinstance(value, int) else repr(float(value))
