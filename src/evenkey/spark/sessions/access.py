"""Access state on the driver, or over Connect in a task, because the client cannot reach state."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError, EvenkeyError, RunError
from evenkey.core.stores import Bucket, Store
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

Result = TypeVar("Result")


def is_remote(session: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, whose client is not Spark's driver."""
    return not hasattr(session, "_jsparkSession")


def check_session(session: object, example: str) -> None:
    """Check that an argument is a Spark session, classic or over Connect.

    Raises
    ------
    ConfigurationError
        It is not; the message shows an `example` of a call.
    """
    if not any(kind.__name__ == "SparkSession" for kind in type(session).__mro__):
        message = f"session = {shown(session)}: must be a Spark session; pass {example}"
        raise ConfigurationError(message)


def at_state(session: SparkSession, function: Callable[[], Result]) -> Result:
    """Call a function where state can be accessed, and return its result.

    Parameters
    ----------
    session
        In a classic session, the function runs on the driver. Over Connect, it runs in one task.
    function
        Function without arguments. The function and its result must be picklable.

    Raises
    ------
    EvenkeyError, OSError
        The function raised this error. If it raises another error in a task, Spark's error for the
        task is raised.
    """
    place: _Place = _Task(session) if is_remote(session) else _Driver()
    return place.call(function)


class _Place(Protocol):
    """Where functions of a session can access state."""

    def call(self, function: Callable[[], Result]) -> Result:
        """Call a function there, and return its result."""


class _Driver:
    """The driver of a classic session, which this process is."""

    def call(self, function: Callable[[], Result]) -> Result:
        return function()


class _Task:
    """A task of a session over Connect."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def call(self, function: Callable[[], Result]) -> Result:
        task = in_workers(self._session, _Once(function))
        one = self._session.range(0, 1, 1, 1)
        result = _unpickled(one.mapInArrow(task, "result binary").toArrow()[0][0].as_py())
        if isinstance(result, _Raised):
            raise result.error
        answer: Result = result
        return answer


_RETURNED: set[type] = set()


def returned(kind: type[Result]) -> type[Result]:
    """Allow a class in the results of `at_state`; over Connect, clients refuse other classes."""
    _RETURNED.add(kind)
    return kind


_ARROW = (
    "schema field type_for_alias list_ large_list map_ struct timestamp duration time32 time64 "
    "decimal128 decimal256 binary dictionary"
)
_PLAIN = frozenset(
    {
        *(("pyarrow.lib", name) for name in _ARROW.split()),
        ("collections", "OrderedDict"),
        (__name__, "_array"),
        (__name__, "_scalar"),
        ("pathlib", "Path"),
        ("pathlib", "PosixPath"),
    }
)
"""Modules and names that the pickled answer of a task may contain, besides errors, stores and
classes marked `returned`. No name of NumPy: its own pickles can point outside of their memory."""


_BUILT_IN = (Exception, set, frozenset, bytearray, complex)


class _Pickler(pickle.Pickler):
    """Pickles the result of a task, with NumPy's arrays as the bytes of ``.npy`` files."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            file = io.BytesIO()
            np.save(file, value, allow_pickle=False)
            read = _array if isinstance(value, np.ndarray) else _scalar
            return read, (file.getvalue(),)
        return NotImplemented


def _pickled(result: object) -> bytes:
    file = io.BytesIO()
    _Pickler(file).dump(result)
    return file.getvalue()


def _array(content: bytes) -> Any:
    """Return the array that the bytes of a ``.npy`` file hold; its size and dtype are checked."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if not isinstance(array, np.ndarray):
        message = "it contains an archive in place of an array"
        raise pickle.UnpicklingError(message)
    return array


def _scalar(content: bytes) -> Any:
    return _array(content)[()]


class _Answer(pickle.Unpickler):
    """Unpickles the answer of a task over Connect; a server must not run code in the client."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        # A name with a dot could reach modules that the module has imported.
        if "." not in name and (module == "builtins" or module.startswith("evenkey.")):
            found = super().find_class(module, name)
            wanted = _BUILT_IN if module == "builtins" else (EvenkeyError, OSError, Store, Bucket)
            # Only classes that are defined in the module, not classes that the module imports.
            ours = isinstance(found, type) and found.__module__ == module
            if ours and (found in _RETURNED or issubclass(found, wanted)):
                return found
        message = f"it contains {module}.{name}, which could run code in this process"
        raise pickle.UnpicklingError(message)


def _unpickled(cell: bytes) -> Any:
    """Unpickle the answer of a task, which Spark's server passed on.

    Raises
    ------
    RunError
        The answer contains something other than data and evenkey's own classes.
    """
    try:
        return _Answer(io.BytesIO(cell)).load()
    except Exception as error:  # a broken pickle can raise any error
        message = f"the Spark server's answer is refused ({error}): use a server that you trust"
        raise RunError(message) from error


@returned
class _Raised:
    """Carries an error to the client as an object, not as text in an error of Spark."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Once:
    """Replaces the single input row by the pickled result of a function."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                result = self._function()
            except (EvenkeyError, OSError) as error:
                result = _Raised(error)
            cell = pa.array([_pickled(result)], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], names=["result"])
