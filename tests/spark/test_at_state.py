"""A function that accesses state runs in this process, or over Connect in a task."""

from __future__ import annotations

import os
import pickle
import sys

import numpy as np
import pyarrow as pa
import pytest

from evenkey.core.errors import RunError
from evenkey.core.stores import LocalStore
from evenkey.joins.static.manifest import StaticVersion
from evenkey.pipeline.runs.output.claims import Claim
from evenkey.spark.plans.tables import OtherLayoutError
from evenkey.spark.sessions import at_state
from evenkey.spark.sessions.access import _array, _pickled, _Raised, _unpickled
from evenkey.spark.sessions.open_task import open_task


@pytest.fixture
def remote(monkeypatch):
    """Treat every session as a Connect session."""
    # Taken from sys.modules, because the package exports a function with this module's name.
    monkeypatch.setattr(sys.modules["evenkey.spark.sessions.access"], "is_remote", lambda _: True)


@pytest.mark.classic("over Connect nothing runs here")
def test_on_a_drivers_own_session_it_runs_here(spark):
    assert at_state(spark, os.getpid) == os.getpid()


@pytest.mark.usefixtures("remote")
def test_over_connect_it_runs_in_a_task(spark):
    assert at_state(spark, os.getpid) != os.getpid()
    assert at_state(spark, lambda: {"a": [1, None]}) == {"a": [1, None]}


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize(
    "error", [RunError("state is not there: restore it"), FileNotFoundError("x")]
)
def test_errors_come_back_as_they_are(spark, error):
    def fail():
        raise error

    with pytest.raises(type(error)) as raised:
        at_state(spark, fail)
    assert raised.value.args == error.args


KINDS = pa.schema(
    [
        ("when", pa.timestamp("us", "UTC")),
        ("exact", pa.decimal128(12, 2)),
        ("tags", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("both", pa.struct({"a": pa.float32(), "b": pa.binary()})),
    ],
    metadata={"a": "b"},
)


def test_what_tasks_answer_is_read(tmp_path):
    records = np.zeros(2, dtype=[("key", "u8"), ("weight", "f4")])
    answer = {
        "arrays": [np.arange(4)[::2], np.asfortranarray(np.ones((2, 3))), np.array("text")],
        "number": np.float64(0.1),
        "kinds": KINDS,
        "version": (StaticVersion(1, "made-up"), LocalStore(tmp_path), {1}, frozenset("a"), None),
    }
    found = _unpickled(_pickled({**answer, "records": records}))
    np.testing.assert_array_equal(found.pop("records"), records)
    for array, expected in zip(found.pop("arrays"), answer.pop("arrays"), strict=True):
        np.testing.assert_array_equal(array, expected)
    assert found == answer
    for error in (OtherLayoutError("in a line", "pkg", 4), FileNotFoundError(2, "gone", "here")):
        again = _unpickled(_pickled(_Raised(error))).error
        assert (type(again), str(again)) == (type(error), str(error))


class _Calling:
    def __init__(self, function, *arguments):
        self.called = function, arguments

    def __reduce__(self):
        return self.called


@pytest.mark.parametrize(
    "calling",
    [
        _Calling(os.system, "true"),
        _Calling(eval, "1 + 1"),
        _Calling(getattr, 1, "real"),
        _Calling(open_task, b""),
        _Calling(pa.OSFile, os.devnull, "w"),
        _Calling(Claim, LocalStore("/nowhere")),
    ],
    ids=["system", "eval", "getattr", "open_task", "OSFile", "Claim"],
)
def test_an_answer_runs_no_code(calling):
    with pytest.raises(
        RunError, match=r"^the Spark server's answer is refused \(it contains .*could run code"
    ):
        _unpickled(pickle.dumps({"plan": [calling]}))


class _FieldOutside:
    """A pickle of NumPy's whose dtype has a field far outside of the array's memory."""

    def __reduce__(self):
        field = {"far": (np.dtype("i8"), 10**14)}
        return np.dtype, ("V8",), (3, "|", None, ("far",), field, 8, 1, 0)


def npy(descr, content):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': (1,)}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


@pytest.mark.parametrize(
    "forged",
    [
        _Calling(np.ndarray, (1,), np.dtype("O"), b"AAAAAAAA"),
        _FieldOutside(),
        _Calling(_array, npy("|O", b"AAAAAAAA")),
        _Calling(_array, npy([("a", "|O")], b"AAAAAAAA")),
        _Calling(_array, npy("|T", b"A" * 16)),
        _Calling(_array, npy("<i8", b"AAAA")),
    ],
    ids=["bytes as objects", "field outside", "objects", "objects in fields", "strings", "short"],
)
def test_an_answer_cannot_make_an_array_that_points_elsewhere(forged):
    with pytest.raises(RunError, match=r"^the Spark server's answer is refused"):
        _unpickled(pickle.dumps({"about": forged}))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("evenkey.spark.sessions.java_home", "subprocess.Popen"),
        ("evenkey.core.stores.local", "Path"),
        ("builtins", "eval"),
        ("evenkey.not_there", "Anything"),
    ],
)
def test_an_answer_reaches_nothing_that_a_module_has_imported(module, name):
    named = b"\x80\x04" + b"".join(
        b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name)
    )
    with pytest.raises(RunError, match=r"^the Spark server's answer is refused"):
        _unpickled(named + b"\x93.")
