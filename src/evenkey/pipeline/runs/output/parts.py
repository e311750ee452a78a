"""Parts: objects that tasks write; they are valid only after their epoch is committed."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from evenkey.core.errors import RunError
from evenkey.core.whole_files import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from evenkey.core.stores import Store

_NAME = re.compile(r"part-(\d{5,})-(\d+)-(\d+)-(\d+)-(\d+)-([0-9a-f]{32})\.(\w+)")


@dataclass(frozen=True)
class Part:
    """One object of an epoch, written by a task.

    Parameters
    ----------
    place
        The folder of the part, relative to the run's directory, such as ``results`` or
        ``state/placed``; parts of one kind have the same folder.
    number
        Number of the task.
    rows
        Number of rows, at least 1.
    bytes, digest
        Size and digest of the content; see `evenkey.core.whole_files.digest_of`.
    form
        Suffix of the name: ``parquet`` or ``json``.
    took, gave
        How many messages or lines the task received, and how many it passed on to the next step;
        see `evenkey.pipeline.runs.output.tallies`.
    """

    place: str
    number: int
    rows: int
    bytes: int
    digest: str
    form: str = "parquet"
    took: int = 0
    gave: int = 0

    @property
    def is_inside(self) -> bool:
        """Whether the place is inside the run's directory."""
        places = PurePosixPath(self.place).parts
        return self.form in ("parquet", "json") and not {"..", "/", "//"} & set(places)

    @property
    def name(self) -> str:
        """Name of the part after its epoch is committed."""
        return f"part-{self.number:05d}.{self.form}"

    @property
    def staged_name(self) -> str:
        """Name of the part before its epoch is committed, with all figures that it must match."""
        figures = "-".join(map(str, (self.rows, self.bytes, self.took, self.gave)))
        return f"part-{self.number:05d}-{figures}-{self.digest}.{self.form}"


def encoded(table: pa.Table) -> bytes:
    """Encode a table as a Parquet file."""
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def found_parts(names: Iterable[str], prefix: str) -> list[Part]:
    """Return the parts that tasks staged, in order, with one part of a task that ran twice.

    Parameters
    ----------
    names
        Names of objects.
    prefix
        Prefix of the names of the epoch's parts.
    """
    parts = {}
    for name in sorted(names):
        place, _, last = name.removeprefix(prefix).rpartition("/")
        match = _NAME.fullmatch(last)
        if match is not None and name.startswith(prefix):
            number, rows, size, took, gave = map(int, match.groups()[:5])
            parts[place, number] = Part(place, number, rows, size, match[6], match[7], took, gave)
    return list(parts.values())


def verified(part: Part, store: Store, name: str) -> bytes:
    """Read a part, and check its digest.

    Raises
    ------
    FileNotFoundError
        The part does not exist.
    RunError
        The part cannot be read, or has changed.
    """
    try:
        content = store.read(name)
        why = "it was cut short or changed after it was written"
        if digest_of(content) == part.digest:
            return content
    except FileNotFoundError:
        raise
    except OSError as error:
        why = str(error)
    message = f"{store.path(name)} cannot be read ({why}): delete the run's output and run again"
    raise RunError(message)
