"""What a run of an experiment gave."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenkey.experiments.timed import MACHINE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from evenkey.experiments.experiment import Experiment, Finding
    from evenkey.experiments.scale import Scale
    from evenkey.pictures import Plot, Table


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment, and what it makes of them.

    Parameters
    ----------
    experiment, scale, seed
        What was run.
    frame
        A row a scenario: its parameters and figures.
    skipped
        Reasons for which scenarios were left out, each once.
    results
        Folder of the scenarios' files.
    kafka
        Servers through which the streams came; None: from the generator.
    """

    experiment: Experiment
    scale: Scale
    seed: int
    frame: pd.DataFrame
    skipped: Sequence[str]
    results: Path
    kafka: str | None = None

    @cached_property
    def labelled(self) -> pd.DataFrame:
        """The results with the paper's names and figures."""
        return self.experiment.labelled(self.frame)

    @cached_property
    def tables(self) -> Sequence[Table]:
        """The experiment's tables; none where everything was skipped."""
        return self.experiment.tables(self.labelled) if len(self.frame) else ()

    @cached_property
    def plots(self) -> Sequence[Plot]:
        """The experiment's plots."""
        return self.experiment.plots(self.labelled) if len(self.frame) else ()

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What the paper says in words, beside the results."""
        return self.experiment.findings(self.labelled) if len(self.frame) else ()

    @property
    def machines(self) -> Sequence[str]:
        """Where figures were timed; none where all are simulated."""
        machines = self.frame.get(MACHINE, ())
        return list(dict.fromkeys(each for each in machines if isinstance(each, str)))

    @property
    def repeats(self) -> Sequence[int]:
        """Of how many runs the timings are medians."""
        if not self.machines:
            return []
        timed = self.frame[self.frame[MACHINE].notna()]
        return sorted(int(each) for each in timed["repeats"].unique())

    @property
    def command(self) -> str:
        """The command that gives the same figures."""
        seed = f" --seed {self.seed}" if self.seed else ""
        kafka = f" --kafka {self.kafka}" if self.kafka else ""
        scale = self.scale.name
        return f"evenkey experiment run {self.experiment.id} --scale {scale}{seed}{kafka}"

    def to_json(self) -> dict[str, Any]:
        """Give tables and findings as JSON can hold them."""
        return {
            "experiment": self.experiment.id,
            "title": self.experiment.title,
            "reference": self.experiment.reference,
            "scale": self.scale.name,
            "seed": self.seed,
            "kafka": self.kafka,
            "command": self.command,
            "machines": list(self.machines),
            "tables": [
                {"title": table.title, "note": table.note, "rows": table.rows()}
                for table in self.tables
            ],
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "skipped": list(self.skipped),
            "scenarios": len(self.frame),
        }
