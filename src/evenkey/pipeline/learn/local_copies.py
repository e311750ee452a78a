"""Copy objects of a store to files on this host's disk, to read them piece by piece."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.stores import LocalStore
from evenkey.core.whole_files import write_whole

if TYPE_CHECKING:
    from evenkey.core.stores import Store

_copies: dict[str, Path] = {}
_lock = threading.Lock()
_home: list[tempfile.TemporaryDirectory[str]] = []


def local_copy(store: Store, name: str) -> Path:
    """Return the path of a local file with the content of an object.

    The object must never change.

    Returns
    -------
    pathlib.Path
        In a local store, the object's own file. In other stores, a copy that this process keeps
        until it ends.

    Raises
    ------
    OSError
        The object cannot be read.
    """
    if isinstance(store, LocalStore):
        return store.directory / name
    with _lock:
        place = store.path(name)
        if place not in _copies:
            if not _home:
                _home.append(tempfile.TemporaryDirectory(prefix="evenkey-copies-"))
            copy = Path(_home[0].name) / f"{len(_copies)}"
            write_whole(copy, store.read(name))
            _copies[place] = copy
        return _copies[place]
