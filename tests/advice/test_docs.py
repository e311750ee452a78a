"""The Python of docs/advise.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GUIDE = (Path(__file__).parents[2] / "docs" / "advise.md").read_text()


def test_the_example_runs(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - our own guide
    assert capsys.readouterr().out.startswith("planned 16 ")
