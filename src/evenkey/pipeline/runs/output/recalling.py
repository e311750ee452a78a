"""Store the description of the input that a run found at its start, as data and not as pickle."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import RunError
from evenkey.core.whole_files import sealed, unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenkey.core.stores import Store
    from evenkey.pipeline.runs.output.directory import RunDirectory

READING = "state/reading.npz"
"""Name of the object, in the run's directory, that contains the description of the input."""
_FIELDS = "fields"


def keep_reading(
    directory: RunDirectory, fields: Mapping[str, Any], **arrays: NDArray[Any]
) -> None:
    """Store the description of the input: JSON fields, and arrays of numbers or bytes.

    Raises
    ------
    RunError
        Another process has taken the directory.
    OSError
        The description cannot be written.
    """
    archive = io.BytesIO()
    encoded = np.frombuffer(json.dumps(fields).encode(), np.uint8)
    np.savez(archive, allow_pickle=False, **{_FIELDS: encoded, **arrays})
    directory.keep(READING, sealed(archive.getvalue()))


def recall_reading(store: Store) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `keep_reading` stored.

    Parameters
    ----------
    store
        The store of the run's directory.

    Raises
    ------
    RunError
        The description cannot be read, or has changed.
    """
    try:
        with np.load(io.BytesIO(unsealed(store.read(READING))), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        fields: dict[str, Any] = json.loads(arrays.pop(_FIELDS).tobytes())
    except (OSError, ValueError, KeyError) as error:
        message = f"{store.path(READING)} cannot be read ({error}): start again with a new output"
        raise RunError(message) from error
    return fields, arrays


def tuples(value: Any) -> Any:
    """Convert lists to tuples, at any depth, because JSON stores tuples as lists."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value
