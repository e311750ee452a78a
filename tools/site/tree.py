"""Map files of the repository and parts of the code to pages of the site."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.site.commands import commands
from tools.site.links import relinked
from tools.site.modules import MODULES, module_page, modules_page, public_places
from tools.site.programs import LEFT_OUT, notebook, programs

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
    texts = {file: _text(file) for file in homes if Path(file).suffix in (".md", ".ipynb")}
    titles = {file: _title(text) for file, text in texts.items()}
    names = public_places()
    found = {
        homes[file]: (_NOT_SEARCHED if homes[file].startswith("decisions/") else "")
        + relinked(text, file, homes, titles, names)
        for file, text in texts.items()
    }
    found["examples.md"] = programs(ROOT / "examples")
    found["commands.md"] = commands()
    found["api/index.md"] = modules_page()
    for name in MODULES:
        found[f"api/{name}.md"] = module_page(name)
    return found


def _text(file: str) -> str:
    """Return the Markdown of a file, or of a notebook."""
    path = ROOT / file
    return notebook(path) if path.suffix == ".ipynb" else path.read_text("utf-8")


def _title(text: str) -> str:
    return next(line[2:] for line in text.splitlines() if line.startswith("# "))


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
    for file in sorted((ROOT / "examples").rglob("*.*")):
        name = file.relative_to(ROOT).as_posix()
        anchor = file.parent.name if file.name == "action.yml" else file.stem
        shown = file.suffix in (".py", ".yml") and file.name not in LEFT_OUT
        homes[name] = f"examples.md#{anchor}" if shown else "examples.md"
        if file.suffix == ".ipynb":
            homes[name] = f"notebooks/{file.stem}.md"
    return {file: home for file, home in homes.items() if (ROOT / file).exists()}
