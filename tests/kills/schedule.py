"""The schedule of runs and kills, a pure function of a seed."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["KILLS_A_RUN", "KINDS", "KINDS_OF_OTHERS", "Kill", "Phase", "Run", "run_of", "runs"]

Value = TypeVar("Value")

KILLS_A_RUN = 5

KINDS_OF_OTHERS = ("driver", "machine", "jvm", "workers", "terminate", "interrupt")
"""Kinds of kills for all programs; the others of `KINDS` need a run's output with a claim."""
KINDS = (*KINDS_OF_OTHERS, "second", "freeze")

_SUBJECTS = (
    *("pipeline", "aggregate", "join", "pipeline", "route"),
    *("pipeline", "join", "pipeline", "keyed-join"),
)
"""Subjects in an interleaved order, so that a few consecutive runs include each subject."""

_GROUPINGS = (
    *("dkg", "pkg", "planned", "kg", "sg", "dchoices", "wchoices", "cam"),
    *("dkg(variant=reference)", "potc", "on-greedy", "planned(planning=previous)"),
)
_AGGREGATORS = (
    *("count", "sum(column={})", "mean(column={})", "tally(column={})"),
    *("histogram(column={})", "top-k(k=400,capacity=1000)", "heavy-hitters(k=400,capacity=1000)"),
)
"""Aggregators, all exact on these inputs, which have fewer keys than a summary has counters."""
_FORMS = (
    *("lines.txt", "words.txt.bz2", "records.jsonl.gz", "records.csv.zst", "lines.txt.gz"),
    *("records.csv", "words.txt.zst", "records.jsonl"),
)
_PIPELINES = ("sps", "rihps", "spis", "risps")
_MODES = (
    *("dynamic-lb-stal", "static-stal", "dynamic-db-strl"),
    *("static-strl", "dynamic-db-stal", "dynamic-lb-strl"),
)
_PHASES = ("inside", "inside", "inside", "starting")
_LAST_PHASES = ("closing", "inside")
"""Phases of the last kill; no other kill can come while windows are closed."""

_LONGEST = {"starting": 6.0, "inside": 3.0, "closing": 1.0}
"""Maximum delay of a kill after the start of its phase, in seconds."""

_MOST_EPOCHS_BETWEEN = 2
"""Most epochs between two kills, so that ten epochs are enough for all kills of a run."""

Phase = str
"""``starting`` (before the first epoch of a process), ``inside`` (epochs run), ``closing``."""


@dataclass(frozen=True)
class Kill:
    """One of a run's kills.

    Parameters
    ----------
    kind
        One of `KINDS`.
    phase
        Phase in which it should come; the actual one is recorded when it hits.
    after
        For phase ``inside``: number of epochs that the process must have completed before.
    delay
        Seconds to wait after both conditions hold.
    choice
        Random number from 0 to 1 that decides between varieties of a kind.
    """

    kind: str
    phase: Phase
    after: int
    delay: float
    choice: float


@dataclass(frozen=True)
class Run:
    """A run, with its kills in order.

    Parameters
    ----------
    seed, number
        Seed of the schedule and number of the run, which determine everything else.
    subject
        ``pipeline`` and ``join`` are commands; ``aggregate``, ``route`` and ``keyed-join`` are
        programs that use the library.
    grouping, aggregator, form
        Options of a pipeline, empty if the subject does not have them; `form` is the input's file
        name. The aggregator has ``{}`` in place of its column.
    pipeline, mode
        Options of a join, empty for other subjects.
    kills
        The kills, in order.
    """

    seed: int
    number: int
    subject: str
    grouping: str
    aggregator: str
    form: str
    pipeline: str
    mode: str
    kills: tuple[Kill, ...]


def run_of(seed: int, number: int) -> Run:
    """Return one run of a schedule."""
    return next(itertools.islice(runs(seed), number, None))


def runs(seed: int) -> Iterator[Run]:
    """Yield the runs of a schedule, without end.

    Values are dealt from each list like cards: all values of the list come, in a random order,
    before any comes again. So a few consecutive runs cover kinds, groupings and the rest uniformly.
    """
    groupings = _dealt(_GROUPINGS, seed, "groupings")
    aggregators = _dealt(_AGGREGATORS, seed, "aggregators")
    forms = _dealt(_FORMS, seed, "forms")
    pipelines = _dealt(_PIPELINES, seed, "pipelines")
    modes = _dealt(_MODES, seed, "modes")
    kinds = _dealt(KINDS, seed, "kinds")
    others = _dealt(KINDS_OF_OTHERS, seed, "kinds of others")
    phases = _dealt(_PHASES, seed, "phases")
    last_phases = _dealt(_LAST_PHASES, seed, "last phases")
    for number, subject in enumerate(itertools.cycle(_SUBJECTS)):
        joins = subject in {"join", "keyed-join"}
        commands = subject in {"pipeline", "join"}
        of_kills = [next(phases) for _ in range(KILLS_A_RUN)]
        if subject == "pipeline":
            of_kills[-1] = next(last_phases)
        yield Run(
            seed,
            number,
            subject,
            grouping="" if joins else next(groupings),
            aggregator=next(aggregators) if subject in {"pipeline", "aggregate"} else "",
            form=next(forms) if subject == "pipeline" else "",
            pipeline=next(pipelines) if subject == "join" else "",
            mode=next(modes) if joins else "",
            kills=_kills(seed, number, of_kills, kinds if commands else others),
        )


def _kills(
    seed: int, number: int, phases: Sequence[Phase], kinds: Iterator[str]
) -> tuple[Kill, ...]:
    drawn = random.Random(f"{seed} {number}")  # noqa: S311 - not for secrets
    kills = []
    for phase in phases:
        delay = round(drawn.uniform(0, _LONGEST[phase]), 2)
        after = drawn.randrange(_MOST_EPOCHS_BETWEEN + 1) if phase == "inside" else 0
        kills.append(Kill(next(kinds), phase, after, delay, round(drawn.random(), 3)))
    return tuple(kills)


def _dealt(values: Sequence[Value], seed: int, name: str) -> Iterator[Value]:
    """Yield all values in rounds without end, each round in a new random order."""
    for turn in itertools.count():
        yield from random.Random(f"{seed} {name} {turn}").sample(values, len(values))  # noqa: S311
