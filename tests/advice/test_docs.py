"""The Python code of docs/advise.md runs."""

from __future__ import annotations

import pytest

from tests.snippets.blocks import snippets


@pytest.mark.slow(24)
def test_the_example_on_a_dataframe_runs(capsys, spark):
    (example,) = snippets("docs/advise.md", "python")
    keys = "CASE WHEN id % 10 < 7 THEN 0 ELSE id END AS customer"
    exec(example, {"df": spark.range(5000).selectExpr(keys)})  # noqa: S102 - our own guide
    printed = capsys.readouterr().out
    assert printed.startswith("About ")
    assert 'key="customer"' in printed
