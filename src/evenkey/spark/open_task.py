"""What opens a task's function in a worker; it travels by value, as a worker may lack evenkey."""

from __future__ import annotations

from typing import Any


def open_task(pickled: bytes) -> Any:
    """Unpickle a function of evenkey's.

    Raises
    ------
    ModuleNotFoundError
        The worker's Python lacks evenkey, or a package that it needs; the message names the
        interpreter, its host, and the mend.
    """
    # Nothing of this module's own may be used here.
    import pickle
    import platform
    import sys

    try:
        return pickle.loads(pickled)  # noqa: S301 - as Spark does with every function
    except ModuleNotFoundError as error:
        message = (
            f"the workers' Python ({sys.executable} on {platform.node()}) has no module "
            f"{error.name!r}: install evenkey there, or name an interpreter that has it in "
            "PYSPARK_PYTHON before the session starts"
        )
        raise ModuleNotFoundError(message, name=error.name) from None
