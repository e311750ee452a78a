"""Run experiments: measure scenarios that have no result yet, in one process or several."""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from evenkey.core.errors import ConfigurationError
from evenkey.papers.experiments.finished_runs import FinishedRuns
from evenkey.papers.experiments.outcome import Outcome
from evenkey.papers.experiments.result_files import Store
from evenkey.papers.experiments.timed import Timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from evenkey.papers.experiments.base import Experiment
    from evenkey.papers.experiments.experiment_data import Dataset
    from evenkey.papers.experiments.scale import Scale
    from evenkey.papers.experiments.scenario import Measurement, OnMessages, Scenario

RESULTS = "results"

_S = TypeVar("_S", bound="Scenario")


class Progress(NamedTuple):
    """The progress of an experiment.

    Parameters
    ----------
    done, total
        Number of finished runs, and of all runs, with those of earlier commands. A scenario has one
        run; one that measures times may have several.
    dataset
        Stream of the scenario that was measured last.
    messages
        Number of messages so far in the scenario that is being measured; 0 if several scenarios
        are being measured.
    """

    done: int
    total: int
    dataset: str
    messages: int = 0


OnProgress: TypeAlias = "Callable[[Progress], object]"


def run(
    experiment: Experiment,
    scale: Scale,
    output: Path,
    *,
    seed: int = 0,
    jobs: int = 1,
    again: bool = False,
    kafka: str | None = None,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Run an experiment.

    A scenario with a result in `output` is not measured again, even if another experiment declared
    it. So a call that was stopped continues where it stopped: also after the last finished run of
    scenarios that measure times and need several.

    Parameters
    ----------
    experiment
        The experiment.
    scale
        Scale, which determines the sizes of the streams.
    output
        Output folder; the results are written to ``results`` in this folder.
    seed
        Seed of the generated streams.
    jobs
        Number of processes that measure at the same time. Figures do not depend on this number:
        timed scenarios are measured one by one, after all others.
    again
        Whether to repeat measurements that have a result.
    kafka
        Kafka servers; each stream is read from a topic on these servers. None: streams are
        generated.
    on_progress
        Function that is called after each run. If one process measures, the function is also called
        during a run.

    Returns
    -------
    Outcome
        The results, with their tables and plots.

    Raises
    ------
    ConfigurationError
        `jobs` is below 1, a scenario's stream cannot be read from a topic, or no broker answers.
    """
    if jobs < 1:
        message = f"jobs = {jobs}: there must be at least 1 process"
        raise ConfigurationError(message)
    declared = [scenario.seeded(seed) for scenario in experiment.scenarios(scale)]
    if kafka is not None:
        from evenkey.kafka import Address

        declared = [scenario.through(kafka) for scenario in declared]
        Address.parse(f"{kafka}/evenkey").check_reachable()
    reasons = [scenario.dataset.missing() for scenario in declared]
    skipped = dict.fromkeys(reason for reason in reasons if reason is not None)
    wanted = [each for each, reason in zip(declared, reasons, strict=True) if reason is None]
    wanted = list(dict.fromkeys(wanted))
    store = Store(output / RESULTS)
    missing = [each for each in wanted if again or each not in store]
    # Sorted by stream, because the table of a stream's keys stays in memory while scenarios use it.
    missing.sort(key=lambda scenario: str(scenario.dataset))
    timed = [each for each in missing if isinstance(each, Timed)]
    simulated = [each for each in missing if not isinstance(each, Timed)]
    total = _runs(wanted)
    done = total - _runs(missing)

    def show(dataset: str, messages: int = 0) -> None:
        if on_progress is not None:
            on_progress(Progress(done, total, dataset, messages))

    def count(scenario: Scenario) -> None:
        nonlocal done
        done += 1
        show(scenario.dataset.name)

    finished = FinishedRuns(output / RESULTS / "runs", count)
    finished.delete([each for each in wanted if again or each in store])
    for scenario, measurement in _measured(simulated, jobs, show):
        store.write(scenario, measurement)
        count(scenario)
    for scenario, measurement in _timed(timed, finished, show):
        store.write(scenario, measurement)
        finished.delete([scenario])
    frame, digest = store.frame_and_digest(wanted)
    return Outcome(experiment, scale, seed, frame, tuple(skipped), store.directory, digest, kafka)


def _runs(scenarios: Sequence[Scenario]) -> int:
    return sum(each.repeats if isinstance(each, Timed) else 1 for each in scenarios)


def _measured(
    scenarios: Sequence[Scenario], jobs: int, show: Callable[[str, int], None]
) -> Iterator[tuple[Scenario, Measurement]]:
    passes = list(_passes(scenarios, jobs))
    if min(jobs, len(passes)) <= 1:
        for each in passes:
            yield from zip(each, _measure(each, _reporting(each[0], show)), strict=True)
        return
    # Processes are spawned, not forked: threads of Arrow and Numba do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(passes)), context) as pool:
        running = {pool.submit(_measure, each): each for each in passes}
        try:
            for future in as_completed(running):
                yield from zip(running[future], future.result(), strict=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _timed(
    scenarios: Sequence[Timed], finished: FinishedRuns, show: Callable[[str, int], None]
) -> Iterator[tuple[Timed, Measurement]]:
    for group in _passes(scenarios, jobs=1):
        report = _reporting(group[0], show)
        yield from zip(group, type(group[0]).measure_all(group, report, finished.run), strict=True)


def _passes(scenarios: Sequence[_S], jobs: int) -> Iterator[Sequence[_S]]:
    """Group scenarios so that one pass over a stream measures a group.

    Groups are small enough to divide the scenarios of a stream among all jobs.
    """
    groups: dict[tuple[type[_S], Dataset, int], list[_S]] = {}
    for each in scenarios:
        groups.setdefault((type(each), each.dataset, each.at_once), []).append(each)
    for (*_, at_once), group in groups.items():
        most = min(at_once, math.ceil(len(group) / jobs))
        yield from (group[start : start + most] for start in range(0, len(group), most))


def _reporting(scenario: Scenario, show: Callable[[str, int], None]) -> OnMessages:
    return lambda messages: show(scenario.dataset.name, messages)


def _measure(
    scenarios: Sequence[Scenario], on_messages: OnMessages | None = None
) -> list[Measurement]:
    return type(scenarios[0]).measure_all(scenarios, on_messages)
