"""Functions of users in a run's aggregator: noted, so that a run that goes on says they changed."""

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
"""Where the digest of the functions lies in a run's directory."""


def note_functions(aggregator: Aggregator, directory: RunDirectory) -> None:
    """Write down which functions a run has, and log a line where they changed.

    Raises
    ------
    RunError
        The note cannot be read, or another process has taken the directory.
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
            "output %s: the functions of %s are not those that made the states in its checkpoint; "
            "states of both are combined from now on. Choose a new output if they do not fit "
            "together",
            directory.path,
            aggregator,
        )
    directory.keep(FUNCTIONS, json.dumps({"digest": digest}).encode())
