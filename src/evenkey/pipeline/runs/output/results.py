"""Read a run's results: the parts of committed epochs, each checked against its digest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import at_once
from evenkey.pipeline.runs.output.commits import RESULTS, Commits
from evenkey.pipeline.runs.output.output_location import output_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BOUNDS = ("window_start", "window_end")
_INSTANT = pa.timestamp("us", "UTC")


def read_results(output: str | Path) -> pa.Table:
    """Read the results that a run has committed so far; the run may still be active.

    Programs that read the files in ``output/results`` directly see the same rows, except for an
    epoch that is committed but whose files are not yet there. This function also checks that no
    file is missing or changed.

    Parameters
    ----------
    output
        The run's directory, as for ``evenkey run --output``: a path, ``file:///...``, or a URI such
        as ``s3a://bucket/name``. Credentials come from the environment and from the Spark session,
        if there is one.

    Returns
    -------
    pyarrow.Table
        The rows in order of epoch and task, with the columns of the files; no columns if there
        are no results. Timestamps are instants in UTC, as in Spark and pandas. JSON lines contain
        timestamps as text with an offset; only ``window_start`` and ``window_end`` are converted to
        instants.

    Raises
    ------
    ConfigurationError
        No run has begun in the directory, or the URI has an unknown scheme.
    RunError
        A file cannot be read, is missing, has changed since it was written, or its JSON lines
        do not form a table; the message names the file.

    Examples
    --------
    >>> from evenkey import PipelineConfig
    >>> config = PipelineConfig(dataset="country-skew-r80", messages=1000, epochs=1, workers=2)
    >>> from evenkey import run
    >>> import tempfile
    >>> output = tempfile.mkdtemp() + "/run"
    >>> report = run(config.with_options(output=output))  # doctest: +SKIP
    >>> sum(read_results(output)["count"].to_pylist())  # doctest: +SKIP
    1000
    """
    commits = Commits(output_store(output))
    if not commits.begun:
        message = f"output {output} holds no run: pass the output directory of a run"
        raise ConfigurationError(message)
    tables = list(committed_tables(commits))
    # JSON lines leave out nulls, so parts may lack columns.
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def committed_tables(commits: Commits) -> Iterator[pa.Table]:
    """Yield the parts of a run's results; errors are those of `read_results`."""
    for commit in commits.all():
        parts = commit.of(RESULTS)
        contents = at_once(partial(commits.content, commit), parts)
        for part, read in zip(parts, contents, strict=True):
            content = pa.BufferReader(read)
            if part.form == "parquet":
                yield pq.ParquetFile(content).read()
                continue
            try:
                yield _with_instants(pa_json.read_json(content))
            except pa.ArrowInvalid as error:
                message = (
                    f"results of {commit.name} have values of several types ({error}): parse the "
                    "lines of its files one by one, such as with json.loads"
                )
                raise RunError(message) from error


def _with_instants(table: pa.Table) -> pa.Table:
    """Convert the bounds of windows, which are text in JSON, to instants."""
    for name in _BOUNDS:
        number = table.schema.get_field_index(name)
        if number >= 0 and pa.types.is_string(table.schema.field(number).type):
            table = table.set_column(number, name, table[name].cast(_INSTANT))
    return table
