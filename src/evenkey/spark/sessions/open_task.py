"""Unpickle the function of a task in a worker, with a clear error if evenkey is missing there.

This module is pickled by value, so that workers without evenkey can run it. It must not import
other modules of evenkey.
"""

from __future__ import annotations

from typing import Any


def open_task(pickled: bytes) -> Any:
    """Unpickle a function of evenkey.

    Raises
    ------
    ModuleNotFoundError
        The worker's Python has no evenkey, or lacks a package that evenkey needs; the message names
        the interpreter, its host, and the fix.
    """
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


def open_giving_problems(pickled: bytes) -> Any:
    """Unpickle the function of a scalar subquery; on failure, return a function that says why.

    That function returns the error as words (`problem_words`). Spark itself would report only that
    the subquery failed.
    """
    try:
        return open_task(pickled)
    except ModuleNotFoundError as error:
        words_of_it = problem_words(str(error))

        def report(batches: Any) -> Any:
            import pyarrow as pa

            for _ in batches:
                words = pa.array([words_of_it], pa.list_(pa.int64()))
                yield pa.RecordBatch.from_arrays([words], names=["words"])

        return report


def problem_words(message: str) -> list[int]:
    """Encode a message as the words of a subquery: -1, then the code of each character."""
    return [-1, *(ord(each) if each.isprintable() else ord(" ") for each in message)]
