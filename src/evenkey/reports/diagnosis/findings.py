"""Findings: one finding for each stage with a keyed shuffle or a slow scan, over all its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenkey.reports.diagnosis.remedies import kind_of
from evenkey.reports.diagnosis.task_times import hottest_rows

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.after_remedies import Work
    from evenkey.reports.diagnosis.causes import Cause
    from evenkey.reports.diagnosis.reading.spark_application import Application
    from evenkey.reports.diagnosis.remedies import Confidence, Remedy
    from evenkey.reports.diagnosis.stage_runs import Run

Verdict = Literal["change", "unsure", "combined", "balanced", "small", "none"]
"""Whether to change a stage. ``unsure``: try it, as a log cannot show the gain. All further values
are reasons why no change is proposed."""

LEAST_HELP = 1.05
"""Minimum speedup of a change that is offered; reports would print a smaller one as 1.0x."""

_AS_GOOD = 0.9


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
        Part of `seconds`: the time to read the input again and count keys for a plan.
    confidence
        How far `gain` can be relied on: as far as the rows of the tasks explain their times, and as
        far as the assumptions of the remedy hold.
    """

    remedy: Remedy
    seconds: float
    gain: float
    counting: float = 0.0
    confidence: Confidence = "medium"

    @property
    def text(self) -> str:
        """The change and its predicted effect in a line, without its code."""
        whose = "Spark's own:" if self.remedy.by == "spark" else ""
        counting = f", with {self.counting:,.1f} s to count keys" if self.remedy.counted else ""
        effect = (
            f"{self.gain:,.1f}x faster ({self.seconds:,.1f} s{counting}), "
            f"confidence {self.confidence}"
        )
        return " ".join(filter(None, (whose, self.remedy.condition, effect)))


@dataclass(frozen=True)
class Finding:
    """What was found about a stage, over all of its runs.

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
        Possible changes, Spark's own before those of evenkey, and then those with the largest gain
        first. Changes that do not make the stage 1.05x faster are left out.
    cause
        What makes the stage slow.
    verdict, reason
        What to do, and why. They have their final values after the finding was judged.
    notes
        Sentences on what Spark offers, where a log cannot show the gain.
    """

    application: Application
    work: Work
    stream: bool
    fullness: dict[str, float]
    changes: tuple[Change, ...]
    cause: Cause = "none"
    verdict: Verdict = "balanced"
    reason: str = ""
    notes: tuple[str, ...] = ()

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
        """Key columns of the stage's shuffle; empty for a scan."""
        exchanges = self.run.read.exchanges
        return exchanges[0].keys if exchanges else ()

    @property
    def combined(self) -> bool:
        """Whether Spark combines rows by key before each of the stage's exchanges."""
        exchanges = self.run.read.exchanges
        return bool(exchanges) and all(each.combined for each in exchanges)

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
    def best(self) -> Change | None:
        """The change with the largest gain; None if there is no change."""
        return max(self.changes, key=lambda each: each.gain, default=None)

    @property
    def gain(self) -> float:
        """Speedup of the stage by the best change; 1 if there is none."""
        return self.best.gain if self.best else 1.0

    @property
    def best_sure(self) -> Change | None:
        """The best change with at least medium confidence; None if there is none."""
        sure = (each for each in self.changes if each.confidence != "low")
        return max(sure, key=lambda each: each.gain, default=None)

    @property
    def sure_gain(self) -> float:
        """Speedup by the best change with at least medium confidence; 1 if there is none."""
        return self.best_sure.gain if self.best_sure else 1.0

    @property
    def saved(self) -> float:
        """Wall time that the best change would save, in seconds."""
        return self._saved(self.best)

    def _saved(self, change: Change | None) -> float:
        return max(0.0, self.work.seconds - change.seconds) if change else 0.0

    @property
    def line(self) -> str:
        """The stage, its speedup by the best sure change and its cause in a line, for alerts."""
        return (
            f"{self.application.name}: {stage_title(self)}: {self.sure_gain:.1f}x faster, "
            f"{self._saved(self.best_sure):,.1f} s saved ({self.cause})"
        )

    @property
    def spark_suffices(self) -> bool:
        """Whether an answer of Spark itself gains as much as any change, within a tenth."""
        return any(
            each.remedy.by == "spark"
            and each.confidence != "low"
            and each.gain >= _AS_GOOD * self.gain
            for each in self.changes
        )

    def to_json(self) -> dict[str, Any]:
        """Return the finding as values that JSON can represent."""
        run, read = self.run, self.run.read
        first = read.exchanges[0] if read.exchanges else None
        return {
            "verdict": self.verdict,
            "cause": self.cause,
            "reason": self.reason,
            "gain": self.gain,
            "saved_seconds": self.saved,
            "spark_suffices": self.spark_suffices,
            "notes": list(self.notes),
            "stages": sorted({each.stage for each in self.work.runs}),
            "runs": len(self.work.runs),
            "stream": self.stream,
            "query": run.execution.query,
            "call_site": run.execution.call_site or None,
            "operator": read.operator,
            "kind": self.kind,
            "join_type": read.join_type,
            "keys": list(self.keys),
            "partitions": first.partitions if first else None,
            "origin": first.origin if first else None,
            "combined": self.combined,
            "adaptive": list(self.adaptive),
            "tasks": len(run.tasks),
            "rows": sum(sum(each.rows) for each in self.work.runs),
            "max_over_mean": self.fullness,
            "hottest_key_share": self.hottest_share,
            "seconds": self.work.seconds,
            "skew_costs_seconds": self.work.skew_cost,
            "spilled_bytes": sum(each.spilled for each in self.work.runs),
            "time_goes_by": "output rows" if self.work.by_output else "input rows",
            "seconds_of_a_task": {"fixed": self.work.line.fixed, "per_row": self.work.line.slope},
            "changes": [
                {
                    "by": each.remedy.by,
                    "how": each.remedy.how,
                    "condition": each.remedy.condition,
                    "code": each.remedy.code,
                    "seconds": each.seconds,
                    "gain": each.gain,
                    "confidence": each.confidence,
                    "counting_seconds": each.counting,
                }
                for each in self.changes
            ],
            "tasks_of_worst_run": [
                {"rows": rows, "bytes": task.bytes, "seconds": task.seconds}
                for rows, task in zip(run.rows, run.tasks, strict=True)
            ],
        }


@dataclass(frozen=True)
class Diagnosed:
    """Findings of one application.

    Parameters
    ----------
    application
        The application, with the stages and executions in `findings` only. Its tasks have no counts
        by accumulator, and its plans have only their roots.
    findings
        One finding for each stage with a keyed shuffle; the stages to change come first.
    cautions
        What is unknown about the application; each caution is a sentence.
    """

    application: Application
    findings: tuple[Finding, ...]
    cautions: tuple[str, ...]

    @property
    def named(self) -> tuple[Finding, ...]:
        """The stages to change."""
        return tuple(each for each in self.findings if each.verdict == "change")

    def to_json(self) -> dict[str, Any]:
        """Return the findings as values that JSON can represent."""
        known = self.application
        return {
            "id": known.id,
            "name": known.name,
            "spark": known.version,
            "slots": known.slots,
            "started": known.started,
            "seconds": known.seconds,
            "source": known.source,
            "cautions": list(self.cautions),
            "findings": [each.to_json() for each in self.findings],
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
    by = f" by {', '.join(finding.keys)}" if finding.keys else ""
    title = f"stage {stage_names(finding)}: {finding.run.read.operator}{by}"
    return title + (f", {place}" if place else "")
