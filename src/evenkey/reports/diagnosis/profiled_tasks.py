"""Add the tasks of event logs to a profile, and report the profile without showing keys.

`evenkey.spark.record` names what Spark counts after the fingerprint of the operation. The plans in
event logs have these names, so a stage that reads the counted rows ran this operation.
"""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.profiles import MARK, Profile, TaskFigures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkey.core.profiles import HotKey, Operation
    from evenkey.reports.diagnosis.findings import Diagnosed
    from evenkey.reports.diagnosis.reading.spark_application import Application
    from evenkey.reports.diagnosis.stage_runs import Run

_SHOWN = 5
"""Maximum number of hot keys in a line."""
_WORSE, _LEAST_SECONDS = 1.2, 1.0
"""Growth of an imbalance that is reported: as a factor and in seconds, both."""


class _Worse(NamedTuple):
    """How much longer the longest task takes than the mean, in seconds: in two logs."""

    now: float
    before: float


def with_tasks(profile: Profile, applications: Iterable[Diagnosed]) -> Profile:
    """Return a profile with rows and seconds of each operation's tasks in its newest run.

    A stage without a shuffle, such as a write or a join with a broadcast, adds nothing.

    Parameters
    ----------
    profile
        Profile of the job.
    applications
        Applications in which the job ran while it was recorded, with their findings: each stage
        that reads a shuffle by key has one.
    """
    operations = dict(profile.operations)
    for each in applications:
        runs = (run for finding in each.findings for run in finding.work.runs)
        for run in sorted(runs, key=lambda run: run.stage):
            fingerprint = _fingerprint(run)
            if fingerprint not in operations:
                continue
            known, found = operations[fingerprint], _figures(each.application, run)
            if known.tasks is None or known.tasks.at <= found.at:
                operations[fingerprint] = replace(known, tasks=found)
    return Profile(operations)


def _fingerprint(run: Run) -> str:
    """Return the fingerprint of the operation whose counted rows a run reads; empty: of none."""
    names = (each.observed or "" for each in run.read.exchanges)
    ours = [name.removeprefix(MARK) for name in names if name.startswith(MARK)]
    return ours[0].partition("-")[0] if ours else ""


def _figures(application: Application, run: Run) -> TaskFigures:
    # The tasks of a server have no times of a clock.
    of_log = application.source == "log"
    at = max(each.started + each.seconds for each in run.tasks) if of_log else time.time()
    seconds = tuple(round(each, 3) for each in run.seconds)
    return TaskFigures(application.id, at, run.rows, seconds)


def profile_lines(profile: Profile, earlier: Profile | None = None, *, keys: bool) -> Iterator[str]:
    """Yield a line for each operation of a profile.

    Parameters
    ----------
    profile
        The profile.
    earlier
        The same profile, before the tasks of newer logs were added: a line says if the imbalance of
        tasks grew by a factor of at least 1.2, and by at least a second.
    keys
        Whether to name hot keys: by their text, or by their hash if only this was recorded. False:
        only their shares are listed.
    """
    for fingerprint, each in profile.operations.items():
        by = " and ".join(each.keys)
        grown = _grown(_worse(earlier, fingerprint, each.tasks))
        measured = f"{_measured(each, keys=keys)}{grown}"
        yield f"{each.operator} by {by}, of {', '.join(each.reads)}: {measured}"


def _worse(profile: Profile | None, fingerprint: str, tasks: TaskFigures | None) -> _Worse | None:
    """Compare tasks with those of an operation in an earlier profile."""
    known = None if profile is None else profile.operations.get(fingerprint)
    before = None if known is None else known.tasks
    if tasks is None or before is None or tasks == before:
        return None
    now, then = (max(each.seconds) - fmean(each.seconds) for each in (tasks, before))
    return None if now < _WORSE * then or now - then < _LEAST_SECONDS else _Worse(now, then)


def _grown(worse: _Worse | None) -> str:
    if worse is None:
        return ""
    now, then = worse
    return (
        f"; worse than in the previous log: the longest task takes {now:,.1f} s more than the "
        f"mean, {then:,.1f} s before"
    )


def _measured(operation: Operation, *, keys: bool) -> str:
    parts = []
    for number, rows in enumerate(operation.inputs):
        which = f" of input {number + 1}" if len(operation.inputs) > 1 else ""
        shares = [_shown(each, rows.share(each), keys=keys) for each in rows.keys[:_SHOWN]]
        parts.append(f"hot keys{which}: {', '.join(shares) or 'none'}")
    tasks = operation.tasks
    if tasks is not None and any(tasks.rows):
        count = len(tasks.rows)
        fullness = max(tasks.rows) * count / sum(tasks.rows)
        parts.append(
            f"{count:,} tasks, {sum(tasks.rows):,} rows, the largest task {fullness:.1f} times "
            f"the mean, the longest {max(tasks.seconds):,.1f} s"
        )
    return "; ".join(parts) or "not sampled"


def _shown(key: HotKey, share: float, *, keys: bool) -> str:
    return f"{_name(key)} {share:.1%}" if keys else f"{share:.1%}"


def _name(key: HotKey) -> str:
    return f"hash {key.hashed:016x}" if key.text is None else key.text


def profile_values(
    profile: Profile, earlier: Profile | None = None, *, keys: bool
) -> dict[str, Any]:
    """Return the operations of a profile as values that JSON can represent.

    The parameters are those of `profile_lines`. ``worse`` has for an operation whose imbalance grew
    how much longer the longest task takes than the mean, in seconds, now and before.
    """
    return {
        name: _values(each, _worse(earlier, name, each.tasks), keys=keys)
        for name, each in profile.operations.items()
    }


def _values(operation: Operation, worse: _Worse | None, *, keys: bool) -> dict[str, Any]:
    tasks = operation.tasks
    return {
        "operator": operation.operator,
        "keys": list(operation.keys),
        "reads": list(operation.reads),
        "runs": operation.runs,
        "inputs": [
            {
                "rows": rows.rows,
                "hot_keys": [
                    {"share": rows.share(key)} | ({"key": _name(key)} if keys else {})
                    for key in rows.keys
                ],
            }
            for rows in operation.inputs
        ],
        "tasks": None
        if tasks is None
        else {"rows": list(tasks.rows), "seconds": list(tasks.seconds)},
        "worse": None if worse is None else worse._asdict(),
    }
