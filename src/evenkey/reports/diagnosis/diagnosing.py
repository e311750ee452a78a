"""The diagnosis from start to end: read logs, find stages, propose changes."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from evenkey.core.checking import check_path, number
from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import local_path, scheme_of
from evenkey.reports.diagnosis.earlier_diagnosis import compared
from evenkey.reports.diagnosis.findings import Diagnosed
from evenkey.reports.diagnosis.judging import find, without_unused
from evenkey.reports.diagnosis.markdown_report import markdown_of
from evenkey.reports.diagnosis.reading.history_server import is_address, read_server
from evenkey.reports.diagnosis.reading.log_reader import STRANGE, read_log
from evenkey.reports.diagnosis.reading.logs import find_logs, listed
from evenkey.reports.diagnosis.thresholds import Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkey.reports.diagnosis.earlier_diagnosis import Comparison
    from evenkey.reports.diagnosis.findings import Finding
    from evenkey.reports.diagnosis.reading.logs import EventLog
    from evenkey.reports.diagnosis.reading.spark_application import Application

OnBytes: TypeAlias = "Callable[[int, int, str], None]"
"""A function that is called with the bytes read so far, all bytes, and the name of the log."""

FORMULA = (
    "Skew costs makespan(tasks as they are; S slots) - ceil(T / S) * mean(task). A change saves "
    "makespan(tasks as they are, by the line) - makespan(tasks after the change, by the line). The "
    "line is seconds = fixed + slope * rows, fitted to the tasks. A change costs another reading "
    "of the stage's input."
)
"""How costs and gains are computed, as reports print it."""


@dataclass(frozen=True)
class Diagnosis:
    """The findings for all applications of a source.

    Parameters
    ----------
    source
        The path or address that was read, as the user gave it.
    thresholds
        The limits that a stage must pass to be a stage to change.
    applications
        The findings for each application.
    cautions
        Which logs could not be read; each caution is a sentence.

    Examples
    --------
    >>> diagnosis = diagnose(event_log)  # an application that grouped by customer
    >>> len(diagnosis.named), diagnosis.cautions
    (1, ())

    >>> diagnosis.to_json()["named"]
    1
    """

    source: str
    thresholds: Thresholds
    applications: tuple[Diagnosed, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[Finding, ...]:
        """The stages to change, of all applications."""
        return tuple(each for one in self.applications for each in one.named)

    def above(self, gain: float) -> tuple[Finding, ...]:
        """Return the stages to change whose predicted speedup exceeds `gain`.

        Changes of low confidence do not count.

        Examples
        --------
        >>> len(diagnose(event_log).above(1.2)), len(diagnose(event_log).above(100))
        (1, 0)
        """
        return tuple(each for each in self.named if each.sure_gain > gain)

    def since(self, earlier: Mapping[str, Any]) -> Comparison:
        """Return which stages are new, got worse, or were fixed since an earlier diagnosis.

        Parameters
        ----------
        earlier
            What `to_json` returned for the earlier diagnosis.

        Raises
        ------
        ConfigurationError
            `earlier` is no diagnosis of this version of evenkey.

        Examples
        --------
        >>> diagnosis = diagnose(event_log)
        >>> diagnosis.since(diagnosis.to_json())
        Comparison(new=(), worse=(), fixed=())
        """
        return compared(self.applications, earlier, self.thresholds.least_seconds)

    def to_markdown(self, since: Comparison | None = None, profile: Sequence[str] = ()) -> str:
        """Return the diagnosis as Markdown: the stages to change, then a table of all stages.

        Parameters
        ----------
        since
            Comparison with an earlier diagnosis, which `since` returned; None: none.
        profile
            Lines about the operations of a recorded profile, such as those that the command
            ``evenkey diagnose --profile`` prints; they are listed last.

        Examples
        --------
        >>> diagnose(event_log).to_markdown().splitlines()[0]
        '## 1 stage to change'
        """
        return markdown_of(self.applications, self.cautions, since, profile)

    def to_json(self) -> dict[str, Any]:
        """Return the diagnosis as values that JSON can represent."""
        return {
            "source": self.source,
            "thresholds": asdict(self.thresholds),
            "formula": FORMULA,
            "named": len(self.named),
            "cautions": list(self.cautions),
            "applications": [each.to_json() for each in self.applications],
        }


def diagnose(
    source: str | Path,
    *,
    application: str | None = None,
    last_hours: float | None = None,
    least_fullness: float = Thresholds.least_fullness,
    least_gain: float = Thresholds.least_gain,
    least_seconds: float = Thresholds.least_seconds,
    on_progress: OnBytes | None = None,
) -> Diagnosis:
    """Find the stages of past applications that key skew slows down, and what to change.

    `diagnose` reads what Spark recorded while the applications ran. It neither starts nor needs
    Spark.

    Parameters
    ----------
    source
        Where to read. A path of an event log (a file, which may be compressed, or the directory of
        a rolled log); a path of a directory of logs; the address of a history server
        (``http://host:18080``); or the address of the web UI of a running application
        (``http://host:4040``).
    application
        Id of the only application to examine. None: all applications of a directory, or the newest
        20 of a history server.
    last_hours
        Only applications of so many hours before now: logs whose files changed then; on a server,
        all applications that ended then or still run, instead of the newest 20. None: any time.
    least_fullness
        Minimum ratio of the rows of a stage's largest task to the mean rows of its tasks; by
        default 1.5. A stage below this or one of the next two limits is not a stage to change.
    least_gain
        Minimum speedup of the stage by a change; by default 1.2.
    least_seconds
        Minimum wall time that a change saves over all runs of the stage, in seconds; by default
        1.0.
    on_progress
        Called while logs are read from a path, with the number of bytes read so far, their number
        in all, and the name of the current log. None: never.

    Raises
    ------
    ConfigurationError
        There is nothing to read, the source is not a log, no server answers, or no application has
        this id or is of the last hours. `least_fullness` or `least_gain` is below 1,
        `least_seconds` or `last_hours` is below 0, or one of these is not a number.

    Examples
    --------
    `event_log` is the path of an event log, here of an application that grouped by customer.

    >>> (stage,) = diagnose(event_log).named
    >>> stage.keys, len(stage.run.tasks)
    (('customer',), 4)
    >>> len(diagnose(event_log, least_gain=10).named)
    0
    """
    check_path("source", source)
    if last_hours is not None:
        number("last_hours", last_hours, least=0)
    limits = Thresholds(least_fullness, least_gain, least_seconds)
    found = _Found(application, limits)
    cautions = _applications(found.take, str(source), application, last_hours, on_progress)
    if found.failed is not None and not found.diagnosed:
        raise found.failed
    if not found.diagnosed:
        ids = ", ".join(found.ids)
        message = f"application = {application!r}: {source} has the ids {ids}; pass one of them"
        raise ConfigurationError(message)
    return Diagnosis(str(source), limits, tuple(found.diagnosed), (*cautions, *found.cautions))


_UNJUDGED = (*STRANGE, ArithmeticError)
"""Errors of the code that judges an application, if its log is of a kind that we do not know."""


@dataclass
class _Found:
    """The findings of the applications that were read; an application itself is not kept."""

    wanted: str | None
    thresholds: Thresholds
    ids: list[str] = field(default_factory=list)
    diagnosed: list[Diagnosed] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    failed: Exception | None = None

    def take(self, application: Application) -> None:
        """Judge an application, if it is wanted."""
        self.ids.append(application.id)
        if self.wanted not in (None, application.id):
            return
        try:
            self.diagnosed.append(_diagnosed(application, self.thresholds))
        except _UNJUDGED as error:  # must not hide what is known about the others
            self.failed = error
            who, why = f"{application.name} ({application.id})", f"{type(error).__name__}: {error}"
            self.cautions.append(f"{who} is left out: it cannot be judged ({why}).")


def _applications(
    take: Callable[[Application], None],
    source: str,
    application: str | None,
    last_hours: float | None,
    on_progress: OnBytes | None,
) -> list[str]:
    """Read the applications of a source one by one, and return what could not be read."""
    if is_address(source):
        return read_server(take, source, application, last_hours)
    if scheme_of(source) != "file":
        message = (
            f"{source}: event logs are read from paths of this machine and from servers; copy the "
            "log to this machine, or give the address of a history server"
        )
        raise ConfigurationError(message)
    logs, skipped = find_logs(local_path(source).expanduser())
    if last_hours is not None:
        first = time.time() - 3600 * last_hours
        logs = [log for log in logs if log.changed >= first]
        if not logs:
            message = (
                f"last_hours = {last_hours:g}: no log in {source} changed in this time; name a "
                "longer time"
            )
            raise ConfigurationError(message)
    # The name of a log usually contains the id of its application, so other logs are not opened.
    named = [log for log in logs if application is not None and application in Path(log.name).name]
    cautions = _read(take, named or logs, on_progress)
    if skipped and not named:
        files = "1 file is" if len(skipped) == 1 else f"{len(skipped):,} files are"
        cautions.append(f"{files} left out ({listed(skipped)}).")
    return cautions


def _read(
    take: Callable[[Application], None], logs: Sequence[EventLog], on_progress: OnBytes | None
) -> list[str]:
    """Read logs; a log that cannot be read becomes a caution, and the other logs are still read."""
    cautions = []
    sizes = [log.size for log in logs]
    for place, log in enumerate(logs):
        if on_progress is not None:
            log.on_bytes = _reporting(on_progress, sizes, place, Path(log.name).name)
        try:
            take(read_log(log))
        except ConfigurationError as error:
            if len(logs) == 1:
                raise
            cautions.append(str(error))
    if len(cautions) == len(logs):
        raise ConfigurationError(cautions[0])
    return cautions


def _reporting(
    on_progress: OnBytes, sizes: Sequence[int], place: int, name: str
) -> Callable[[int], None]:
    return lambda read: on_progress(sum(sizes[:place]) + read, sum(sizes), name)


def _diagnosed(application: Application, thresholds: Thresholds) -> Diagnosed:
    findings = find(application, thresholds)
    cautions = list(application.cautions)
    if not findings:
        cautions.append("No keyed shuffle: no stage of a query reads rows by key.")
    of_rdds = sum(
        stage.execution is None and any(task.rows for task in stage.tasks)
        for stage in application.stages
    )
    if of_rdds:
        cautions.append(
            f"{of_rdds:,} stages of RDDs read a shuffle: they have no plan and are not diagnosed."
        )
    kept, findings = without_unused(application, findings)
    return Diagnosed(kept, tuple(findings), tuple(cautions))
