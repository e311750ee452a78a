"""Meeting: whoever reads what another host wrote makes sure that it is seen."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from evenkey.core.stores.store import Store

SHARED = (
    "a place that the driver and all executors share, such as s3a://bucket/state or a path that is "
    "mounted on every host"
)
"""What state must lie in, for messages."""

STATE_MEND = f"state must be {SHARED}; evenkey run keeps it in its --output"
"""What to do where state is not seen, for messages."""


def meet(store: Store, name: str, writer: str, mend: str) -> bytes:
    """Read an object that another host has written, or that all who share a store must find.

    Parameters
    ----------
    store, name
        Where it was written.
    writer
        Who wrote it, such as ``"host worker2"``.
    mend
        What to do where it is not seen, for the message.

    Raises
    ------
    RunError
        This host does not see it, or cannot read it; one line names both hosts, path and mend.
    """
    try:
        content = store.find(name)
    except OSError as error:
        message = f"host {platform.node()} cannot read {store.path(name)} ({error}): {mend}"
        raise RunError(message) from error
    if content is None:
        raise unseen(store.path(name), writer, mend)
    return content


def unseen(path: str, writer: str, mend: str) -> RunError:
    """Make the error of a host that does not see what another one wrote."""
    return RunError(f"host {platform.node()} does not see what {writer} wrote at {path}: {mend}")
