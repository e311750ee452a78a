"""Run the code of notebooks and save its output in them: python -m tools.notebook FILE..."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["kept", "printed", "refresh"]


def printed(notebook: dict[str, Any]) -> list[str]:
    """Run the code cells in order, and return the text that each prints."""
    return [text for text, _pictures in _run(notebook)]


def kept(notebook: dict[str, Any]) -> list[str]:
    """Return the printed text of each code cell that is saved in the notebook."""
    return [
        "".join(line for output in cell["outputs"] for line in output.get("text", ()))
        for cell in _code(notebook)
    ]


def refresh(file: Path) -> None:
    """Run a notebook, and save in its file what the cells print and draw."""
    notebook = json.loads(file.read_text("utf-8"))
    shown = list(_run(notebook))
    for number, (cell, (text, pictures)) in enumerate(zip(_code(notebook), shown, strict=True)):
        cell["execution_count"] = number + 1
        lines = text.splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": lines}
        drawn = [
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": each}}
            for each in pictures
        ]
        cell["outputs"] = [stream, *drawn] if lines else drawn
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _run(notebook: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Run the cells; yield the printed text of each, and its open figures as base64 of PNGs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in _code(notebook):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec("".join(cell["source"]), names)  # noqa: S102 - a notebook of ours
        yield out.getvalue(), _drawn()


def _drawn() -> list[str]:
    plotting = sys.modules.get("matplotlib.pyplot")
    if plotting is None:
        return []
    pictures = []
    for number in plotting.get_fignums():
        picture = io.BytesIO()
        plotting.figure(number).savefig(picture, format="png", dpi=90)
        pictures.append(base64.b64encode(picture.getvalue()).decode())
    plotting.close("all")
    return pictures


def _code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
