"""Read a run's results: those of committed epochs, each checked against its digest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from evenkey.errors import ConfigurationError, RunError
from evenkey.runs.commits import RESULTS, Commits

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_results(output: str | Path) -> pa.Table:
    """Read the results that a run has committed so far; it may still go on.

    Plain readers of ``output/results`` see the same rows. This one also finds those of an epoch
    that is committed and not yet visible, and makes sure that no file is missing or has changed.

    Parameters
    ----------
    output
        The run's directory, as for ``evenkey run --output``.

    Returns
    -------
    pyarrow.Table
        The rows in order of epoch and task, with the columns of the files; without any where
        there are no results.

    Raises
    ------
    ConfigurationError
        No run has begun there.
    RunError
        A file is gone or has changed since it was written, or its lines of JSON make no table; the
        message names it.
    """
    commits = Commits(Path(output).absolute())
    if not commits.begun:
        message = f"output {output} holds no run: name the directory that --output named"
        raise ConfigurationError(message)
    tables = list(committed_tables(commits))
    # Lines of JSON leave nulls out, so parts may lack columns.
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def committed_tables(commits: Commits) -> Iterator[pa.Table]:
    """Read the parts of a run's results one by one; raises as `read_results` does."""
    for commit in commits.all():
        for part in commit.of(RESULTS):
            content = pa.BufferReader(commits.content(commit, part))
            if part.form == "parquet":
                yield pq.ParquetFile(content).read()
                continue
            try:
                yield pa_json.read_json(content)
            except pa.ArrowInvalid as error:
                message = (
                    f"results of {commit.name} have values of no one type ({error}): read its "
                    "lines one by one"
                )
                raise RunError(message) from error
