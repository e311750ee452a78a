"""Map files of the repository and parts of the code to pages of the site."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.site.commands import commands
from tools.site.links import relinked
from tools.site.modules import MODULES, module_page, modules_page
from tools.site.programs import notebook, programs

__all__ = ["ROOT", "pages", "write"]

ROOT = Path(__file__).parents[2]
_ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files outside of docs/ that are pages, and their paths on the site."""
_COPIED = (".png", ".svg")
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""Front matter of decision records: the search leads to what users read; the index lists them."""


def pages() -> dict[str, str]:
    """Return the text of every page, by its path on the site.

    Returns
    -------
    dict
        Maps the path below the site's root, such as ``decisions/142-spark-4.1.md``, to Markdown
        with links for that place.

    Raises
    ------
    ValueError
        A page links to a file that is neither a page, nor a picture, nor a program of examples/.
    """
    homes = _homes()
    found = {
        home: (_NOT_SEARCHED if home.startswith("decisions/") else "")
        + relinked((ROOT / file).read_text("utf-8"), file, homes)
        for file, home in homes.items()
        if file.endswith(".md")
    }
    found["examples.md"] = programs(ROOT / "examples")
    for file in sorted((ROOT / "examples").glob("*.ipynb")):
        found[f"notebooks/{file.stem}.md"] = notebook(file)
    found["commands.md"] = commands()
    found["api/index.md"] = modules_page()
    for name in MODULES:
        found[f"api/{name}.md"] = module_page(name)
    return found


def write(directory: Path) -> None:
    """Write all pages and pictures into a directory, after deleting its earlier content."""
    shutil.rmtree(directory, ignore_errors=True)
    for home, text in pages().items():
        (directory / home).parent.mkdir(parents=True, exist_ok=True)
        (directory / home).write_text(text, "utf-8")
    for file, home in _homes().items():
        if file.endswith(_COPIED):
            (directory / home).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, directory / home)
    shutil.copytree(Path(__file__).parent / "theme", directory / "theme")


def _homes() -> dict[str, str]:
    """Return the path of each file on the site, by its path in the repository."""
    homes = {**_ELSEWHERE}
    for file in sorted((ROOT / "docs").rglob("*")):
        if file.suffix in (".md", *_COPIED):
            name = file.relative_to(ROOT).as_posix()
            homes[name] = name.removeprefix("docs/")
    homes["docs/decisions"] = homes["docs/decisions/README.md"] = "decisions.md"
    homes["examples"] = "examples.md"
    for file in sorted((ROOT / "examples").iterdir()):
        name = file.relative_to(ROOT).as_posix()
        homes[name] = f"notebooks/{file.stem}.md" if file.suffix == ".ipynb" else "examples.md"
    return {file: home for file, home in homes.items() if (ROOT / file).exists()}
