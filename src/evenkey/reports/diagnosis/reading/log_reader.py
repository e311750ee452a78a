"""Build an `Application` from the events of a log; keep only what the diagnosis needs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.reports.diagnosis.reading.call_sites import call_site
from evenkey.reports.diagnosis.reading.limits import figure, text, whole
from evenkey.reports.diagnosis.reading.logs import listed
from evenkey.reports.diagnosis.reading.spark_application import Application, Execution, Stage, Task
from evenkey.reports.diagnosis.reading.spark_plans import (
    DATA_SIZE,
    OUTPUT_ROWS,
    RECORDS_READ,
    RECORDS_WRITTEN,
    Node,
    node_of,
)
from evenkey.reports.diagnosis.reading.spark_settings import known_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkey.reports.diagnosis.reading.logs import EventLog

KNOWN_VERSIONS = (3, 4)
"""Major versions of Spark whose log format this module supports."""

_SQL = "org.apache.spark.sql.execution.ui."
_COUNTED = frozenset({RECORDS_READ, RECORDS_WRITTEN, OUTPUT_ROWS, DATA_SIZE})
_SUCCESS = "Success"

STRANGE = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""Exceptions that the code of this package raises for malformed events and answers."""


def read_log(log: EventLog) -> Application:
    """Read the log of an application.

    Raises
    ------
    ConfigurationError
        A file cannot be read, or the log lacks the start of its application.
    """
    seen = _Seen()
    for event in log.events(READ):
        try:
            _HANDLERS[event["Event"]](seen, event)
        except STRANGE:
            seen.strange += 1
    if not seen.begun:
        said = log_cautions(log)
        why = f" ({' '.join(said)})" if said else ""
        message = (
            f"{log.name}: it lacks the start of its Spark application{why}; pass the whole log, "
            "with its first file"
        )
        raise ConfigurationError(message)
    return seen.application(log)


@dataclass
class _Seen:
    """State collected from the events read so far; times are in milliseconds."""

    id: str = ""
    name: str = ""
    version: str = ""
    begun: bool = False
    ended: bool = False
    first: float = 0.0
    last: float = 0.0
    cores: dict[str, int] = field(default_factory=dict)
    slots: int = 0
    cores_a_task: int = 1
    strange: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    changed_settings: dict[int, dict[str, str]] = field(default_factory=dict)
    plans: dict[int, Node] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    queries: dict[int, str] = field(default_factory=dict)
    executions_of_stages: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    tasks: dict[int, dict[int, Task]] = field(default_factory=dict)

    def application(self, log: EventLog) -> Application:
        """Build the application from the collected state."""
        executions = {
            number: Execution(
                number,
                plan,
                self.places[number],
                self.queries.get(number),
                settings={**self.settings, **self.changed_settings.get(number, {})},
            )
            for number, plan in self.plans.items()
        }
        stages = tuple(
            Stage(
                number,
                self.names.get(number, ""),
                self.executions_of_stages.get(number),
                tuple(self.tasks[number][index] for index in sorted(self.tasks[number])),
            )
            for number in sorted(self.finished & set(self.tasks))
        )
        return Application(
            self.id or log.name,
            self.name,
            self.version,
            self.slots or 1,
            self.first / 1000,
            max(0.0, self.last - self.first) / 1000,
            executions,
            stages,
            tuple(self.cautions(log)),
        )

    def cautions(self, log: EventLog) -> list[str]:
        """Return one sentence for everything that the log lacks."""
        said = []
        if not self.ended:
            why = "still runs" if log.running else "was killed, or still runs"
            said.append(f"The log has no end: the application {why}; its contents are diagnosed.")
        said += log_cautions(log)
        if self.strange:
            said.append(
                f"{self.strange:,} events are not as Spark {self.version or 'of this version'} "
                "writes them, and are left out."
            )
        if not self.version.startswith(tuple(f"{each}." for each in KNOWN_VERSIONS)):
            said.append(
                f"Written by Spark {self.version or 'of an unknown version'}: only logs of Spark "
                f"{' and '.join(map(str, KNOWN_VERSIONS))} are supported; figures may be missing."
            )
        open_stages = len(set(self.tasks) - self.finished)
        if open_stages:
            said.append(f"{open_stages:,} stages failed or did not end: left out.")
        return said


def log_cautions(log: EventLog) -> list[str]:
    """Return one sentence for each part of a log that could not be read."""
    said = []
    if log.cut:
        said.append("The log breaks off in the middle of a line; the lines before it are read.")
    if log.unread:
        lines = (
            "1 line of the log is not a Spark event"
            if log.unread == 1
            else (f"{log.unread:,} lines of the log are not Spark events")
        )
        said.append(f"{lines} (the first: {log.first_unread}): left out.")
    if log.skipped:
        said.append(f"Files of the log that cannot be read are left out: {listed(log.skipped)}.")
    if log.stopped:
        said.append(f"The log is read in part: {log.stopped}.")
    return said


def _log_start(seen: _Seen, event: dict[str, Any]) -> None:
    seen.version = text(event["Spark Version"])


def _application_start(seen: _Seen, event: dict[str, Any]) -> None:
    seen.begun = True
    seen.id, seen.name = text(event.get("App ID") or ""), text(event["App Name"])
    seen.first = seen.last = figure(event["Timestamp"])


def _application_end(seen: _Seen, event: dict[str, Any]) -> None:
    seen.ended = True
    seen.last = figure(event["Timestamp"])


def _environment(seen: _Seen, event: dict[str, Any]) -> None:
    properties = event["Spark Properties"]
    seen.cores_a_task = max(1, whole(properties.get("spark.task.cpus", 1)))
    seen.settings = known_settings(properties)


def _executor_added(seen: _Seen, event: dict[str, Any]) -> None:
    seen.cores[text(event["Executor ID"])] = whole(event["Executor Info"]["Total Cores"])
    at_once = sum(each // seen.cores_a_task for each in seen.cores.values())
    seen.slots = max(seen.slots, at_once)


def _executor_removed(seen: _Seen, event: dict[str, Any]) -> None:
    seen.cores.pop(text(event["Executor ID"]), None)


def _job_start(seen: _Seen, event: dict[str, Any]) -> None:
    properties = event.get("Properties") or {}
    execution = properties.get("spark.sql.execution.id")
    if execution is None:
        return
    for stage in event["Stage IDs"]:
        seen.executions_of_stages.setdefault(whole(stage), whole(execution))
    query = properties.get("sql.streaming.queryId")
    if query:
        seen.queries[whole(execution)] = text(query)


def _stage_completed(seen: _Seen, event: dict[str, Any]) -> None:
    stage = event["Stage Info"]
    if not stage.get("Failure Reason"):
        number = whole(stage["Stage ID"])
        seen.names[number] = text(stage["Stage Name"])
        seen.finished.add(number)
        seen.last = max(seen.last, figure(stage.get("Completion Time") or 0))


def _task_end(seen: _Seen, event: dict[str, Any]) -> None:
    if event["Task End Reason"]["Reason"] != _SUCCESS or not event.get("Task Metrics"):
        return
    info, metrics = event["Task Info"], event["Task Metrics"]
    read, source = metrics["Shuffle Read Metrics"], metrics.get("Input Metrics") or {}
    launched, finished = figure(info["Launch Time"]), figure(info["Finish Time"])
    task = Task(
        whole(info["Index"]),
        launched / 1000,
        max(0.0, finished - launched) / 1000,
        whole(read["Total Records Read"]),
        whole(read["Remote Bytes Read"]) + whole(read["Local Bytes Read"]),
        {
            whole(each["ID"]): whole(each["Update"])
            for each in info.get("Accumulables", ())
            if each.get("Name") in _COUNTED and "Update" in each
        },
        whole(source.get("Records Read", 0)),
        whole(source.get("Bytes Read", 0)),
        whole(metrics.get("Disk Bytes Spilled", 0)),
        sys.intern(text(info.get("Executor ID", ""))),
        sys.intern(text(info.get("Host", ""))),
    )
    seen.tasks.setdefault(whole(event["Stage ID"]), {})[task.index] = task
    seen.last = max(seen.last, finished)


def _execution_start(seen: _Seen, event: dict[str, Any]) -> None:
    number = whole(event["executionId"])
    seen.plans[number] = node_of(event["sparkPlanInfo"])
    seen.places[number] = call_site(event.get("description"), event.get("details"))
    seen.changed_settings[number] = known_settings(event.get("modifiedConfigs") or {})


def _plan_update(seen: _Seen, event: dict[str, Any]) -> None:
    number = whole(event["executionId"])
    if number in seen.places:
        seen.plans[number] = node_of(event["sparkPlanInfo"])


_HANDLERS: dict[str, Callable[[_Seen, dict[str, Any]], None]] = {
    "SparkListenerLogStart": _log_start,
    "SparkListenerApplicationStart": _application_start,
    "SparkListenerApplicationEnd": _application_end,
    "SparkListenerEnvironmentUpdate": _environment,
    "SparkListenerExecutorAdded": _executor_added,
    "SparkListenerExecutorRemoved": _executor_removed,
    "SparkListenerJobStart": _job_start,
    "SparkListenerStageCompleted": _stage_completed,
    "SparkListenerTaskEnd": _task_end,
    _SQL + "SparkListenerSQLExecutionStart": _execution_start,
    _SQL + "SparkListenerSQLAdaptiveExecutionUpdate": _plan_update,
}

READ = frozenset(_HANDLERS)
"""Names of the events that are read; all others are skipped."""
