"""What opens a task's function in a worker; it travels by value, as a worker may lack evenkey.

Nothing of a module of evenkey's may be used here but what stands here.
"""

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
    """Unpickle a function of a scalar subquery's, or give one that reports why it cannot be.

    Of an error in a subquery Spark reports no more than that there was one.
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
    """Spell a message as words of a subquery's value: -1, and the number of each character."""
    return [-1, *(ord(each) if each.isprintable() else ord(" ") for each in message)]
