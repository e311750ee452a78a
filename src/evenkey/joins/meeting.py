"""Meeting: whoever reads a join's state makes sure that it sees what other hosts have written."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from evenkey.errors import RunError
from evenkey.joins.stored import find

if TYPE_CHECKING:
    from evenkey.stores import Store


def meet(store: Store, name: str, host: str) -> bytes:
    """Read what a host has written, and what every other that shares the place must find.

    Parameters
    ----------
    store, name
        Where it was written.
    host
        Who wrote it, or has seen it last.

    Raises
    ------
    RunError
        This host does not see it; one line names both hosts, the path and the mend.
    """
    content = find(store, name)
    if content is None:
        raise unseen(store.path(name), f"host {host}")
    return content


def unseen(path: str, writer: str) -> RunError:
    """Make the error of a host that does not see what another one does."""
    return RunError(
        f"host {platform.node()} does not see what {writer} wrote at {path}: state must be a "
        "place that the driver and all executors share, such as s3a://bucket/state or a mounted "
        "directory; pass it as state=... (or what was there is deleted: then call balanced_join "
        "again)"
    )
