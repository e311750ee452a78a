"""The Python of docs/advise.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GUIDE = (Path(__file__).parents[2] / "docs" / "advise.md").read_text()


def examples():
    return re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_example_runs(capsys):
    example, _ = examples()
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - our own guide
    assert capsys.readouterr().out.startswith("planned 16 ")


def test_the_example_on_a_dataframe_runs(capsys, spark):
    _, example = examples()
    keys = "CASE WHEN id % 10 < 7 THEN 0 ELSE id END AS customer"
    exec(example, {"df": spark.range(5000).selectExpr(keys)})  # noqa: S102 - our own guide
    printed = capsys.readouterr().out
    assert printed.startswith("About ")
    assert 'key="customer"' in printed
