"""Make the pages of examples/: the programs, and the notebooks with their output."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LEFT_OUT", "notebook", "programs"]

LEFT_OUT = ("demo.py",)
"""`make demo` runs it: it fills demo.html, so its code alone is nothing to copy."""
_LAST = ("airflow_diagnosis", "webhook_listener")
"""Programs that need another program than Spark."""


def programs(directory: Path) -> str:
    """Return the page of the programs: the purpose of each, the name of its file, its code."""
    parts = [
        "# Example programs",
        "Short programs to copy; tests run each of them. `examples/` also has notebooks:",
    ]
    notebooks = sorted(directory.glob("*.ipynb"))
    parts.append("\n".join(f"- [{_title(file)}](notebooks/{file.stem}.md)" for file in notebooks))
    for file in _in_order(directory):
        parts += _program(file)
    for file in sorted(directory.glob("*/action.yml")):
        parts += _action(file)
    return "\n\n".join(parts) + "\n"


def notebook(file: Path) -> str:
    """Convert a notebook to a page: its text, its code, and the output of the code."""
    cells = json.loads(file.read_text("utf-8"))["cells"]
    parts = [part for cell in cells for part in _cell(cell)]
    parts.append(f"*This notebook is `examples/{file.name}`; tests run it.*")
    return "\n\n".join(parts) + "\n"


def _in_order(directory: Path) -> list[Path]:
    """List the programs to copy, the simplest first."""
    shown = [file for file in directory.glob("*.py") if file.name not in LEFT_OUT]
    return sorted(shown, key=lambda each: (each.stem != "word_count", each.stem in _LAST, each))


def _program(file: Path) -> Iterator[str]:
    code = file.read_text("utf-8")
    parsed = ast.parse(code)
    purpose, *rest = (ast.get_docstring(parsed) or file.stem).split("\n\n")
    yield _heading(purpose, file.stem)
    yield f"`examples/{file.name}`"
    for paragraph in rest:
        yield f"```sh\n{paragraph}\n```" if paragraph.startswith("python ") else paragraph
    end = parsed.body[0].end_lineno if ast.get_docstring(parsed) else 0
    yield f"```python\n{chr(10).join(code.splitlines()[end:]).strip()}\n```"


def _action(file: Path) -> Iterator[str]:
    """Yield the section of an action for GitHub; the comment at its top says what it is for."""
    text = file.read_text("utf-8")
    purpose = re.match(r"# (.+)", text)
    yield _heading(purpose[1] if purpose else file.parent.name, file.parent.name)
    yield f"`examples/{file.parent.name}/{file.name}`"
    yield f"```yaml\n{text.partition(chr(10))[2].strip()}\n```"


def _heading(purpose: str, anchor: str) -> str:
    return f"## {' '.join(purpose.split()).removesuffix('.')} {{: #{anchor} }}"


def _cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    shown = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        if "text" in output:
            shown.append(f'```text title="Output"\n{"".join(output["text"]).rstrip()}\n```')
        elif "image/png" in output["data"]:
            drawn = "".join(output["data"]["image/png"]).replace("\n", "")
            shown.append(f"![Output of the cell above](data:image/png;base64,{drawn})")
        else:
            shown.append(f"```text\n{''.join(output['data']['text/plain']).rstrip()}\n```")
    return shown


def _title(file: Path) -> str:
    first = "".join(json.loads(file.read_text("utf-8"))["cells"][0]["source"])
    return first.splitlines()[0].removeprefix("# ")
