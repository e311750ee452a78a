"""Make the pages of examples/: the programs, and the notebooks with their output."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["notebook", "programs"]


def programs(directory: Path) -> str:
    """Return the page of the programs, with the purpose and code of each."""
    parts = [
        "# Example programs",
        "Short programs to copy; tests run each of them. `examples/` also has notebooks:",
    ]
    notebooks = sorted(directory.glob("*.ipynb"))
    parts.append("\n".join(f"- [{_title(file)}](notebooks/{file.stem}.md)" for file in notebooks))
    for file in sorted(directory.glob("*.py")):
        code = file.read_text("utf-8")
        said = (ast.get_docstring(ast.parse(code)) or file.stem).splitlines()[0]
        parts += [f"## {file.name}", said, f"```python\n{code.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def notebook(file: Path) -> str:
    """Convert a notebook to a page: its text, its code, and the output of the code."""
    cells = json.loads(file.read_text("utf-8"))["cells"]
    parts = [part for cell in cells for part in _cell(cell)]
    parts.append(f"*This notebook is `examples/{file.name}`; tests run it.*")
    return "\n\n".join(parts) + "\n"


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
