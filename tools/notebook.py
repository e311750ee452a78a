"""Run the code of a notebook and keep what it prints: python -m tools.notebook FILE..."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["kept", "printed", "refresh"]


def printed(notebook: dict[str, Any]) -> list[str]:
    """Run the code cells one after the other, and give what each prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    texts = []
    for cell in _code(notebook):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec("".join(cell["source"]), names)  # noqa: S102 - a notebook of ours
        texts.append(out.getvalue())
    return texts


def kept(notebook: dict[str, Any]) -> list[str]:
    """Give what the notebook says that each code cell printed."""
    return [
        "".join(line for output in cell["outputs"] for line in output["text"])
        for cell in _code(notebook)
    ]


def refresh(file: Path) -> None:
    """Run a notebook, and write what its cells print into it."""
    notebook = json.loads(file.read_text("utf-8"))
    for number, (cell, text) in enumerate(zip(_code(notebook), printed(notebook), strict=True)):
        cell["execution_count"] = number + 1
        lines = text.splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": lines}
        cell["outputs"] = [stream] if lines else []
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
