"""Results on disk: one Parquet file per finished scenario, with the parameters and the seed."""

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
    """Stores the results of scenarios in a folder.

    A file is named after the id of its scenario. The file has one row, with one column per
    parameter, one column per figure, and the column ``series``, a list with one struct per point.
    Files are written atomically. A scenario always gives the same file, except for timings.

    Parameters
    ----------
    directory
        The folder; it is created if it does not exist.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __contains__(self, scenario: Scenario) -> bool:
        return self.path(scenario).exists()

    def path(self, scenario: Scenario) -> Path:
        """Return the path of the result file of a scenario."""
        return self.directory / f"{scenario.id}.parquet"

    def write(self, scenario: Scenario, measurement: Measurement) -> None:
        """Write the result of a scenario, and replace an earlier result."""
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
            The file cannot be read, or contains another scenario's result.
        """
        file = self.path(scenario)
        try:
            table = pq.read_table(file)
            parameters = json.loads(table.schema.metadata[_PARAMETERS])
        except (pa.ArrowException, OSError, TypeError, KeyError, ValueError) as error:
            message = f"result {file} cannot be read: delete it and run again"
            raise RunError(message) from error
        wanted = scenario.parameters
        # The file may lack parameters that were added later. These have their defaults in the
        # scenario: otherwise the scenario would have another id, and so another file.
        if any(name not in wanted or wanted[name] != value for name, value in parameters.items()):
            message = f"result {file} has other parameters: delete it and run again"
            raise RunError(message)
        row: dict[str, Any] = table.to_pylist()[0]
        return {**wanted, **row}

    def frame_and_digest(self, scenarios: Sequence[Scenario]) -> tuple[pd.DataFrame, str]:
        """Read results into a data frame, one row per scenario in the given order; add a digest.

        The digest is the SHA-256 of the ids and figures of the scenarios. The digest of simulations
        is the same on every machine. It is also the same in every version of evenkey that measures
        the same figures: it does not depend on parameters that a later version adds, or on the
        bytes of the files.
        """
        rows, texts = [self.read(scenario) for scenario in scenarios], []
        for scenario, row in zip(scenarios, rows, strict=True):
            given = scenario.parameters
            figures = {name: value for name, value in row.items() if name not in given}
            texts.append(json.dumps([scenario.id, figures], sort_keys=True))
        digest = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()
        return pd.DataFrame(rows), digest
