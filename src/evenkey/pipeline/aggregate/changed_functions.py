"""Record a digest of a user's aggregator functions; warn if they change when a run continues."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from evenkey.aggregators import Aggregator
    from evenkey.pipeline.runs import RunDirectory

logger = logging.getLogger(__name__)

FUNCTIONS = "state/functions.json"
"""Path, inside a run's directory, of the object with the digest of the functions."""


def note_functions(aggregator: Aggregator, directory: RunDirectory) -> None:
    """Record the digest of an aggregator's functions, and log a warning if it has changed.

    Raises
    ------
    RunError
        The record cannot be read, or another process has taken the directory.
    """
    digest = aggregator.functions_digest
    if not digest:
        return
    try:
        content = directory.store.find(FUNCTIONS)
        before = None if content is None else json.loads(content)["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        path = directory.store.path(FUNCTIONS)
        message = f"{path} cannot be read ({error}): delete it, and run again"
        raise RunError(message) from error
    if before == digest:
        return
    if before is not None:
        logger.warning(
            "output %s: the functions of %s have changed since its checkpoint was written; states "
            "of old and new functions are combined from now on. Choose a new output if these "
            "states do not fit together",
            directory.path,
            aggregator,
        )
    directory.keep(FUNCTIONS, json.dumps({"digest": digest}).encode())
