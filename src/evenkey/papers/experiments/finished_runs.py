"""Runs on disk: the finished runs of timed scenarios that still lack others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.core.whole_files import write_whole
from evenkey.papers.experiments.timed import TimedRun, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from evenkey.papers.experiments.scenario import OnMessages, Scenario
    from evenkey.papers.experiments.timed import Timed


class FinishedRuns:
    """Keeps each finished run in a file until its scenario has a result.

    The runs of scenarios that are compared alternate, so the first result may come after hours.
    With these files a command that was stopped then repeats only the run that was interrupted.

    Parameters
    ----------
    directory
        Folder of the files; it is created if it does not exist.
    on_run
        Function that is called after each run that was measured or read.
    """

    def __init__(self, directory: Path, on_run: Callable[[Timed], object]) -> None:
        self.directory = directory
        self._on_run = on_run

    def run(self, scenario: Timed, number: int, on_messages: OnMessages | None = None) -> TimedRun:
        """Return a run of a scenario: from its file, or measured now.

        A run that another machine measured, or whose file cannot be read, is measured again.
        """
        file = self.directory / f"{scenario.id}-{number}.json"
        run = _read(file)
        if run is None:
            run = scenario.run(number, on_messages)
            rows = None if run.series is None else run.series.to_pylist()
            content = {"machine": machine(), **run._asdict(), "series": rows}
            self.directory.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps(content).encode())
        self._on_run(scenario)
        return run

    def delete(self, scenarios: Sequence[Scenario]) -> None:
        """Delete the runs of scenarios, and the folder if it has no others."""
        for scenario in scenarios:
            for file in self.directory.glob(f"{scenario.id}-*.json"):
                file.unlink()
        if self.directory.is_dir() and not any(self.directory.iterdir()):
            self.directory.rmdir()


def _read(file: Path) -> TimedRun | None:
    try:
        content = json.loads(file.read_bytes())
        if content["machine"] != machine():
            return None
        rows = content["series"]
        series = None if rows is None else pa.Table.from_pylist(rows)
        return TimedRun(content["figures"], content["timings"], series)
    except (OSError, ValueError, KeyError, TypeError):
        return None
