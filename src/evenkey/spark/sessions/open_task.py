"""Open a task in a worker: provide this program's evenkey, and unpickle the task's function.

This module is pickled by value, so that workers without evenkey can run it. It must not import
other modules of evenkey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

_NOT_SENT = ("__pycache__", "cli", "reports", "templates")
"""Folders with nothing that a task imports."""
_SENT = (".py", ".txt")


class Package(TypedDict):
    """What a worker must know of the program's evenkey."""

    version: str
    identity: str
    """Digest of the files, see `digest`."""
    archive: str
    """Name of the zip archive with these files among the files of the session."""
    folder: str
    """Folder of the archive on the driver's host, for a process there that gets no files of the
    session; else empty."""
    content: bytes
    """The archive itself, for such a process if the folder is not known; else empty."""
    needs: Mapping[str, str]
    """Oldest version of each package that tasks need."""


def open_task(pickled: bytes, package: Package) -> Any:
    """Unpickle a function of evenkey, after the program's evenkey was imported.

    Raises
    ------
    ImportError
        The worker's Python lacks a package or has an old one, or it has imported another evenkey.
        The message names the interpreter, its host, the version found, and the fix.
    """
    import pickle

    check_packages(package["needs"])
    try:
        _provide(package)
        _shorten_collections()
        return pickle.loads(pickled)  # noqa: S301 - as Spark does with every function
    except ModuleNotFoundError as error:
        message = _line(f"has no module {error.name!r}", "install it")
        raise ImportError(message, name=error.name) from None


def open_giving_problems(pickled: bytes, package: Package) -> Any:
    """Unpickle the function of a scalar subquery; on failure, return a function that says why.

    That function returns the error as words (`problem_words`). Spark itself would report only that
    the subquery failed.
    """
    try:
        return open_task(pickled, package)
    except ImportError as error:
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


def check_packages(needs: Mapping[str, str]) -> None:
    """Check that this Python has packages, each in some version or a later one.

    Raises
    ------
    ImportError
        A package is missing or too old.
    """
    for name, oldest in needs.items():
        found = _version(name)
        if found is None or _numbers(found) < _numbers(oldest):
            has = f"has no package {name}" if found is None else f"has {name} {found}"
            message = _line(has, f"install {name}>={oldest}")
            raise ImportError(message, name=name)


def digest(root: Traversable) -> str:
    """Return a digest of the names and the content of evenkey's files below its folder.

    Two copies with the same digest do the same in a task.
    """
    import hashlib

    found = hashlib.sha256()
    for name, file in files_below(root):
        content = file.read_bytes()
        found.update(f"{name} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()[:16]


def files_below(root: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files of evenkey that tasks need, in the order of their names."""
    for each in sorted(root.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            if each.name not in _NOT_SENT:
                yield from files_below(each, f"{prefix}{each.name}/")
        elif each.name.endswith(_SENT):
            yield f"{prefix}{each.name}", each


def imported_identity() -> str:
    """Return the digest of the evenkey that this process has imported."""
    import sys
    from importlib.resources import files

    known: dict[str, Any] = vars(sys.modules["evenkey"])
    if "_identity" not in known:
        known["_identity"] = digest(files("evenkey"))
    identity: str = known["_identity"]
    return identity


def _provide(package: Package) -> None:
    """Import the program's evenkey: the installed one if its files are the same, else the sent one.

    The installed one is preferred, because its modules and kernels may already be compiled.
    """
    import sys

    if sys.modules.get("evenkey") is None:
        _import(package)
    if imported_identity() != package["identity"]:
        other, version = sys.modules["evenkey"], package["version"]
        message = _line(
            f"has imported evenkey {other.__version__} from {other.__path__[0]}, which is not the "
            f"evenkey {version} of the program",
            f"uninstall evenkey or install evenkey=={version}",
        )
        raise ImportError(message, name="evenkey")


def _shorten_collections() -> None:
    """Let Python's garbage collector pass over all objects that exist when later tasks open.

    Spark's worker collects garbage after each task. With the modules that a task of evenkey has
    imported this takes 0.05 s, more than a small task itself. Objects are passed over when the
    number of opened tasks has doubled, so that what a task leaves behind stays little.
    """
    import gc
    import sys

    known: dict[str, Any] = vars(sys.modules["evenkey"])
    opened = known["_opened"] = known.get("_opened", 0) + 1
    if opened > 1 and opened.bit_count() == 1:
        gc.freeze()


def _import(package: Package) -> None:
    import sys
    from importlib import import_module
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("evenkey")
    # A folder that has the name by chance has no origin, and one in a zip is not read again.
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    same = folder is not None and folder.is_dir() and digest(folder) == package["identity"]
    unpacked = None if same else _unpacked(package)
    if unpacked is not None:
        sys.path.insert(0, unpacked)
    try:
        imported = import_module("evenkey")
        if same:  # so that its files are not read again
            vars(imported).setdefault("_identity", package["identity"])
    finally:
        # Modules of evenkey that are imported later are found by the path of the package.
        if unpacked is not None:
            sys.path.remove(unpacked)


def _unpacked(package: Package) -> str | None:
    """Unpack an archive beside itself, once per executor; return what to import from.

    From a folder, Python imports compiled modules, and Numba its compiled kernels. Where the folder
    cannot be written, this returns the archive. None: it was not sent.
    """
    import tempfile
    import zipfile
    from pathlib import Path

    from pyspark import SparkFiles

    # Spark starts a Python process beside the driver, too, for a stream with state. It gets no
    # files of the session.
    root = getattr(SparkFiles, "_root_directory", None) or package["folder"]
    if not root:
        return _opened(package["content"]) if package["content"] else None
    packed = Path(root, package["archive"])
    folder = packed.with_suffix("")
    if not folder.is_dir():
        if not packed.is_file():
            return None
        try:
            with tempfile.TemporaryDirectory(dir=packed.parent) as directory:
                made = Path(directory, "made")
                with zipfile.ZipFile(packed) as opened:
                    opened.extractall(made)
                made.rename(folder)
        except OSError:  # another worker has unpacked it in the meantime, or the disk refuses
            return str(folder if folder.is_dir() else packed)
    return str(folder)


def _opened(content: bytes) -> str:
    """Return a path of an archive that is gone when the process ends, even if it is killed."""
    import os
    import tempfile

    descriptor, path = tempfile.mkstemp()  # it stays open: modules may be imported later
    os.unlink(path)  # noqa: PTH108 - beside the other calls of os
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    return f"/dev/fd/{descriptor}"


def _version(name: str) -> str | None:
    import importlib
    import sys
    from importlib import metadata

    try:
        if name not in sys.modules:
            return metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
    try:
        return str(importlib.import_module(name).__version__)
    except ImportError:
        return None


def _numbers(version: str) -> list[int]:
    import re

    return [int(each) for each in re.findall(r"\d+", version)[:3]]


def _line(what: str, fix: str) -> str:
    import platform
    import sys

    return (
        f"the workers' Python ({sys.executable} on {platform.node()}) {what}: {fix} there, or name "
        "another interpreter in PYSPARK_PYTHON before the session starts"
    )
