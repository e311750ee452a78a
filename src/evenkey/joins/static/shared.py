"""Whoever reads a join's state makes sure that it sees what other hosts have written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core import stores
from evenkey.core.stores import SHARED

if TYPE_CHECKING:
    from evenkey.core.errors import RunError
    from evenkey.core.stores import Store

_REMEDY = (
    f"state must be {SHARED}; pass it as state=... (or what was there is deleted: then call "
    "balanced_join again)"
)


def read_shared(store: Store, name: str, host: str) -> bytes:
    """Read what a host has written, or was the last to see, or raise what `unseen` gives."""
    return stores.read_shared(store, name, f"host {host}", _REMEDY)


def unseen(path: str, writer: str) -> RunError:
    """Make the error of a host that does not see what another one wrote."""
    return stores.unseen(path, writer, _REMEDY)
