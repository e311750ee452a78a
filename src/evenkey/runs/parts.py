"""Parts: files that tasks leave behind, staged under their claim until their epoch is committed."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.errors import RunError
from evenkey.files import digest_of, write_whole

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"part-(\d{5,})-(\d+)-([0-9a-f]{32})\.(\w+)")


@dataclass(frozen=True)
class Part:
    """One file of an epoch.

    Parameters
    ----------
    place
        Directory of its kind, relative to the run's: ``results``, ``state/placed``.
    number
        The task's.
    rows
        How many it holds, at least 1.
    bytes, digest
        Of its content; see `evenkey.files.digest_of`.
    form
        Ending of its name: ``parquet`` or ``json``.
    """

    place: str
    number: int
    rows: int
    bytes: int
    digest: str
    form: str = "parquet"

    @property
    def name(self) -> str:
        """Its name once its epoch is committed."""
        return f"part-{self.number:05d}.{self.form}"

    @property
    def staged_name(self) -> str:
        """Its name until then, which says all of it that its content must agree with."""
        return f"part-{self.number:05d}-{self.rows}-{self.digest}.{self.form}"


def encoded(table: pa.Table) -> bytes:
    """Encode a table as a Parquet file."""
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def stage(directory: Path, place: str, number: int, rows: int, content: bytes, form: str) -> Part:
    """Write a part, whole, where an epoch's parts wait for its commit.

    Parameters
    ----------
    directory
        The epoch's, of this claim.
    place, number, rows, form
        As for `Part`.
    content
        The file's.

    Raises
    ------
    RunError
        It cannot be written.
    """
    part = Part(place, number, rows, len(content), digest_of(content), form)
    target = directory / place / part.staged_name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content)
    except OSError as error:
        message = f"{target} cannot be written ({error}): free or choose a directory"
        raise RunError(message) from error
    return part


def found_parts(directory: Path) -> list[Part]:
    """Find the parts that tasks staged, in order; of a task that ran twice one of the two."""
    parts = {}
    for file in sorted(directory.rglob("part-*")):
        match = _NAME.fullmatch(file.name)
        if match is not None:
            place = file.parent.relative_to(directory).as_posix()
            size = file.stat().st_size
            part = Part(place, int(match[1]), int(match[2]), size, match[3], match[4])
            parts[place, part.number] = part
    return list(parts.values())


def verified(part: Part, file: Path) -> bytes:
    """Read a part, and make sure that it is what was written.

    Raises
    ------
    FileNotFoundError
        It is not there.
    RunError
        It cannot be read, or has changed.
    """
    try:
        content = file.read_bytes()
        why = "it was cut short or changed after it was written"
        if digest_of(content) == part.digest:
            return content
    except FileNotFoundError:
        raise
    except OSError as error:
        why = str(error)
    message = f"{file} cannot be read ({why}): delete the run's output and run again"
    raise RunError(message)
