"""Write the index of all decision records: python -m tools.decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FOLDER", "INDEX", "TOPICS", "Record", "main", "page", "records", "status_of"]

FOLDER = Path(__file__).parents[1] / "docs" / "decisions"
INDEX = FOLDER / "README.md"
TOPICS = (
    "Groupings",
    "Planned grouping",
    "Operators on DataFrames",
    "groupBy and state",
    "Joins on DataFrames",
    "Balanced joins and the Distributor",
    "Aggregators and applications",
    "Runs and exactness",
    "Kafka",
    "State and storage",
    "Spark versions, sessions and Connect",
    "Diagnosis, advice and metrics",
    "Experiments and simulation",
    "Tests and tools",
    "Package, documentation and release",
)
"""Topics in the order of the page: from the public API to how the project is maintained."""

_INTRO = """\
# Decisions

A decision record explains a design decision in half a page. Write one if there was a real
alternative, or if the code differs from a paper
([CONTRIBUTING](../../CONTRIBUTING.md#how-we-write) says how).

`make decisions` writes this page from the first lines of the records; a test keeps it current.
"""
_ARCHIVE = "Archive"
_HEAD = re.compile(
    r"# (?P<number>\d{3}): (?P<title>.+)\n\n"
    r"Topic: (?P<topic>.+)\.\n"
    r"(?:Status: (?P<status>.+)\.\n)?\n"
)
_LINK = r"\[\d{3}\]\([^)]+\)"
_LINKS = rf"(?:{_LINK}, )*(?:{_LINK} and )?{_LINK}"
_STATUS = re.compile(
    rf"(?P<state>in force)(?:, amended by (?P<amended>{_LINKS}))?(?:: .+)?"
    rf"|(?P<superseded>superseded) by (?P<by>{_LINK})(?:: .+)?"
    r"|(?P<obsolete>obsolete): (?P<gone>.+)"
)


@dataclass(frozen=True)
class Record:
    """The first lines of a decision record.

    Parameters
    ----------
    path
        Path of the file, relative to the folder of the records.
    number, title, topic
        Texts in the first lines.
    state
        ``in force``, ``superseded`` or ``obsolete``.
    others
        Numbers of the records that amended or superseded it.
    gone
        For an obsolete record: the part of the code that was removed.
    """

    path: str
    number: str
    title: str
    topic: str
    state: str
    others: tuple[str, ...] = ()
    gone: str = ""

    @property
    def archived(self) -> bool:
        """Whether the record belongs to the archive."""
        return self.state != "in force"


def status_of(text: str) -> tuple[str, tuple[str, ...], str]:
    """Read a status: its state, the numbers of other records, and what was removed.

    Raises
    ------
    ValueError
        The text is not a status.

    Examples
    --------
    >>> status_of("in force, amended by [135](135-parts.md) and [137](137-signs.md): names")
    ('in force', ('135', '137'), '')
    >>> status_of("superseded by [142](../142-spark-4.1.md)")
    ('superseded', ('142',), '')
    >>> status_of("obsolete: the batch runner was removed")
    ('obsolete', (), 'the batch runner was removed')
    >>> status_of("accepted")
    Traceback (most recent call last):
    ValueError: 'accepted' is no status: write 'in force', ... 'superseded by [NNN](...)' or ...
    """
    match = _STATUS.fullmatch(text)
    if match is None:
        message = (
            f"{text!r} is no status: write 'in force', 'in force, amended by [NNN](...)', "
            "'superseded by [NNN](...)' or 'obsolete: what is gone'"
        )
        raise ValueError(message)
    state = match["state"] or match["superseded"] or match["obsolete"]
    others = re.findall(r"\[(\d{3})\]", match["amended"] or match["by"] or "")
    return state, tuple(others), match["gone"] or ""


def records(folder: Path = FOLDER) -> list[Record]:
    """Read all records, including the archive, in order of their numbers.

    Raises
    ------
    ValueError
        The first lines of a record do not have the required form; the message names the file.
    """
    files = [*folder.glob("*.md"), *folder.glob("archive/*.md")]
    found = [_read(file, folder) for file in files if file != folder / INDEX.name]
    return sorted(found, key=lambda each: each.number)


def _read(file: Path, folder: Path) -> Record:
    path = file.relative_to(folder).as_posix()
    head = _HEAD.match(file.read_text("utf-8"))
    if head is None or head["number"] != file.name[:3]:
        message = (
            f"{path}: must begin with '# NNN: title', an empty line, 'Topic: topic.' and, unless "
            "it is in force, 'Status: status.'; NNN is the number in the file's name"
        )
        raise ValueError(message)
    if head["topic"] not in TOPICS:
        message = f"{path}: topic {head['topic']!r} must be one of {', '.join(TOPICS)}"
        raise ValueError(message)
    try:
        state, others, gone = status_of(head["status"] or "in force")
    except ValueError as error:
        message = f"{path}: {error}"
        raise ValueError(message) from error
    record = Record(path, head["number"], head["title"], head["topic"], state, others, gone)
    if record.archived != path.startswith("archive/"):
        message = (
            f"{path}: records that are superseded or obsolete, and no others, belong in archive/"
        )
        raise ValueError(message)
    return record


def _table(title: str, listed: list[Record], paths: dict[str, str]) -> list[str]:
    lines = [f"## {title}", "", "| number | decision | status |", "|---|---|---|"]
    for each in listed:
        others = [f"[{number}]({paths[number]})" for number in each.others]
        listing = " and ".join(filter(None, [", ".join(others[:-1]), *others[-1:]]))
        status = {
            "in force": f"in force, amended by {listing}" if others else "in force",
            "superseded": f"superseded by {listing}",
            "obsolete": f"obsolete: {each.gone}",
        }[each.state]
        lines.append(f"| [{each.number}]({each.path}) | {each.title} | {status} |")
    return [*lines, ""]


def page() -> str:
    """Return the page: a table for each topic, then the archive.

    Raises
    ------
    ValueError
        A record does not have the required form, or names a record that does not exist.
    """
    known = records()
    paths = {each.number: each.path for each in known}
    for each in known:
        if missing := [number for number in each.others if number not in paths]:
            message = (
                f"{each.path}: there is no record {', '.join(missing)}, which its status names"
            )
            raise ValueError(message)
    lines = [_INTRO]
    for topic in TOPICS:
        listed = [each for each in known if each.topic == topic and not each.archived]
        lines += _table(topic, listed, paths)
    lines += _table(_ARCHIVE, [each for each in known if each.archived], paths)
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    INDEX.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
