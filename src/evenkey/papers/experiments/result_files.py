"""Results on disk: one Parquet file a finished scenario, with its parameters and seed inside."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.errors import RunError
from evenkey.core.whole_files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkey.papers.experiments.scenario import Measurement, Scenario

_PARAMETERS = b"evenkey.parameters"


class Store:
    """Results of scenarios in a folder.

    A file is named by its scenario's id and has one row: a column a parameter, a column a
    figure, and ``series``, a list with a struct a point. It appears when it is whole, and says
    the same each time it is made, timings apart.

    Parameters
    ----------
    directory
        The folder; made where it is missing.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __contains__(self, scenario: Scenario) -> bool:
        return self.path(scenario).exists()

    def path(self, scenario: Scenario) -> Path:
        """Where a scenario's result lies."""
        return self.directory / f"{scenario.id}.parquet"

    def write(self, scenario: Scenario, measurement: Measurement) -> None:
        """Write a result, in place of an earlier one."""
        row: dict[str, Any] = {**scenario.parameters, **measurement.figures}
        if measurement.series is not None:
            row["series"] = measurement.series.to_pylist()
        parameters = json.dumps(scenario.parameters).encode()
        table = pa.Table.from_pylist([row]).replace_schema_metadata({_PARAMETERS: parameters})
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.path(scenario)
        with replacing(file) as unfinished:
            pq.write_table(table, unfinished)

    def read(self, scenario: Scenario) -> dict[str, Any]:
        """Read a result: parameters, figures, and the series as a list.

        Raises
        ------
        RunError
            The file cannot be read, or holds another scenario's result.
        """
        file = self.path(scenario)
        try:
            table = pq.read_table(file)
            parameters = json.loads(table.schema.metadata[_PARAMETERS])
        except (pa.ArrowException, OSError, TypeError, KeyError, ValueError) as error:
            message = f"result {file} cannot be read: delete it and run again"
            raise RunError(message) from error
        wanted = scenario.parameters
        # Parameters of later versions are not in it: the id says that they have their defaults.
        if any(name not in wanted or wanted[name] != value for name, value in parameters.items()):
            message = f"result {file} is of other parameters: delete it and run again"
            raise RunError(message)
        row: dict[str, Any] = table.to_pylist()[0]
        return {**wanted, **row}

    def frame_and_digest(self, scenarios: Sequence[Scenario]) -> tuple[pd.DataFrame, str]:
        """Read results into a data frame, one row per scenario, in their order; and their digest.

        It is the SHA-256 of what scenarios gave, by their ids. Of what is simulated it is the same
        on every machine, with every version that measures the same: parameters that a later one
        adds do not enter, nor do the bytes of the files.
        """
        rows, texts = [self.read(scenario) for scenario in scenarios], []
        for scenario, row in zip(scenarios, rows, strict=True):
            given = scenario.parameters
            figures = {name: value for name, value in row.items() if name not in given}
            texts.append(json.dumps([scenario.id, figures], sort_keys=True))
        digest = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()
        return pd.DataFrame(rows), digest
