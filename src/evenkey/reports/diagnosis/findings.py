"""Findings: one finding for each stage with a keyed shuffle, over all runs of the stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenkey.reports.diagnosis.after_remedies import hottest_rows
from evenkey.reports.diagnosis.remedies import kind_of

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.after_remedies import Work
    from evenkey.reports.diagnosis.remedies import Remedy
    from evenkey.reports.diagnosis.spark_application import Application
    from evenkey.reports.diagnosis.stage_runs import Run

Verdict = Literal["change", "combined", "one task", "balanced", "small", "none"]
"""Whether to change a stage; all values but ``change`` are reasons why no change is proposed."""


@dataclass(frozen=True)
class Change:
    """A change that would make a stage faster, with its predicted effect.

    Parameters
    ----------
    remedy
        The change, with its lines of code.
    seconds
        Predicted wall time of the stage with the change, over all of its runs.
    gain
        Speedup of the stage: the wall time without the change over `seconds`.
    counting
        Part of `seconds`: the time to read the input once more and count keys for a plan.
    """

    remedy: Remedy
    seconds: float
    gain: float
    counting: float = 0.0


@dataclass(frozen=True)
class Finding:
    """What was found about a stage with a keyed shuffle, over all of its runs.

    Parameters
    ----------
    application
        The application of the stage.
    work
        The runs of the stage, with measurements of their tasks.
    stream
        Whether the runs are epochs of a streaming query.
    fullness
        The largest task over the mean, by ``rows``, ``bytes`` and ``seconds``.
    changes
        Possible changes; the change with the largest gain comes first. If the verdict is
        ``change``, changes that do not make the stage 1.05x faster are left out.
    verdict, reason
        What to do, and why. They have their final values after the finding was judged.
    """

    application: Application
    work: Work
    stream: bool
    fullness: dict[str, float]
    changes: tuple[Change, ...]
    verdict: Verdict = "balanced"
    reason: str = ""

    @property
    def run(self) -> Run:
        """The run with the largest imbalance of tasks."""
        return self.work.worst

    @property
    def kind(self) -> str:
        """Kind of work that the stage does; `kind_of` lists the kinds."""
        return kind_of(self.run.read)

    @property
    def keys(self) -> tuple[str, ...]:
        """Key columns of the stage's shuffle."""
        return self.run.read.exchanges[0].keys

    @property
    def combined(self) -> bool:
        """Whether Spark combines rows by key before each of the stage's exchanges."""
        return all(each.combined for each in self.run.read.exchanges)

    @property
    def adaptive(self) -> tuple[str, ...]:
        """How Spark's adaptive execution changed the partitions, such as ``coalesced``."""
        exchanges = self.run.read.exchanges
        return tuple(dict.fromkeys(note for each in exchanges for note in each.adaptive))

    @property
    def hottest_share(self) -> float:
        """Approximate share of the hottest key in the rows of the worst run."""
        rows = self.run.rows
        return hottest_rows(rows) / sum(rows) if sum(rows) else 0.0

    @property
    def saved(self) -> float:
        """Wall time that the best change would save, in seconds."""
        best = self.changes[0].seconds if self.changes else self.work.seconds
        return max(0.0, self.work.seconds - best)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as values that JSON can represent."""
        run, read = self.run, self.run.read
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "stages": sorted({each.stage for each in self.work.runs}),
            "runs": len(self.work.runs),
            "stream": self.stream,
            "query": run.execution.query,
            "call_site": run.execution.call_site or None,
            "operator": read.operator,
            "kind": self.kind,
            "join_type": read.join_type,
            "keys": list(self.keys),
            "partitions": read.exchanges[0].partitions,
            "origin": read.exchanges[0].origin,
            "combined": self.combined,
            "adaptive": list(self.adaptive),
            "tasks": len(run.tasks),
            "rows": sum(sum(each.rows) for each in self.work.runs),
            "max_over_mean": self.fullness,
            "hottest_key_share": self.hottest_share,
            "seconds": self.work.seconds,
            "skew_costs_seconds": self.work.skew_cost,
            "time_goes_by": "rows given" if self.work.by_output else "rows taken in",
            "seconds_of_a_task": {"fixed": self.work.line.fixed, "per_row": self.work.line.slope},
            "changes": [
                {
                    "how": each.remedy.how,
                    "condition": each.remedy.condition,
                    "code": each.remedy.code,
                    "seconds": each.seconds,
                    "gain": each.gain,
                    "counting_seconds": each.counting,
                }
                for each in self.changes
            ],
            "tasks_of_worst_run": [
                {"rows": rows, "bytes": task.bytes, "seconds": task.seconds}
                for rows, task in zip(run.rows, run.tasks, strict=True)
            ],
        }


def stage_names(finding: Finding) -> str:
    """Return the number of a finding's stage; for several stages, such as ``3 to 9``.

    A finding about a stream has one stage per epoch.
    """
    numbers = sorted({each.stage for each in finding.work.runs})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def stage_title(finding: Finding) -> str:
    """Return the title of a stage: its number, operator, keys and line of code."""
    place = finding.run.execution.call_site
    title = f"stage {stage_names(finding)}: {finding.run.read.operator} by "
    return title + ", ".join(finding.keys) + (f", {place}" if place else "")
