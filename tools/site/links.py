"""Rewrite the links of a file of the repository for its page on the site."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["relinked"]

_LINK = re.compile(r"(?<=\])\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```\s*?$)", re.MULTILINE | re.DOTALL)


def relinked(text: str, file: str, homes: Mapping[str, str]) -> str:
    """Replace links to files of the repository by links to pages of the site.

    Parameters
    ----------
    text
        Markdown of the file. Fenced code is not changed.
    file
        Path of the file, relative to the repository's root.
    homes
        Maps files and directories, relative to that root, to their paths on the site.

    Raises
    ------
    ValueError
        The target of a link is not on the site.

    Examples
    --------
    >>> homes = {"README.md": "index.md", "docs/joins.md": "joins.md"}
    >>> relinked("[joins](docs/joins.md#state), [Spark](https://s.org)", "README.md", homes)
    '[joins](joins.md#state), [Spark](https://s.org)'
    >>> relinked("[code](src/a.py)", "README.md", homes)
    Traceback (most recent call last):
    ValueError: README.md links to src/a.py, which is not on the site: write it as code
    """
    here = posixpath.dirname(file)
    start = posixpath.dirname(homes[file])

    def moved(match: re.Match[str]) -> str:
        path, mark, anchor = match["target"].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = posixpath.normpath(posixpath.join(here, path))
        if target not in homes:
            message = f"{file} links to {path}, which is not on the site: write it as code"
            raise ValueError(message)
        return f"({posixpath.relpath(homes[target], start or '.')}{mark}{anchor})"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)
