"""Send evenkey to the executors of a session, which may have no evenkey or another version."""

from __future__ import annotations

import functools
import io
import logging
import sys
import tempfile
import threading
import weakref
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evenkey.core.whole_files import write_whole
from evenkey.spark.sessions import open_task as opening

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from evenkey.spark.sessions.open_task import Package

logger = logging.getLogger(__name__)

NEEDS = {"numpy": "2", "pandas": "2.2", "pyarrow": "17"}
"""Oldest version of each package that tasks need; Spark's own Python functions need them too."""

_sent: weakref.WeakSet[object] = weakref.WeakSet()
_lock = threading.Lock()


@functools.cache
def own_package(folder: str = "", *, content: bool = False) -> Package:
    """Return what a worker must know of this program's evenkey, on request with its archive."""
    # Not imported: the package itself is above its subpackages.
    identity, version = opening.imported_identity(), sys.modules["evenkey"].__version__
    archive = f"evenkey-{version}-{identity}.zip"
    return {
        "version": version,
        "identity": identity,
        "archive": archive,
        "folder": folder,
        "content": _archive() if content else b"",
        "needs": NEEDS,
    }


def send(session: SparkSession) -> None:
    """Send evenkey's archive to the executors of a session, once; new executors get it too.

    Spark delivers the archive as a file of the session, and `open_task` imports from it. If Spark
    does not accept the file, this logs a warning, because the executors may have evenkey installed.
    """
    context = getattr(session, "_sc", None)  # a session over Connect has none
    executors: _Executors = _OverConnect(session) if context is None else _OfContext(context)
    with _lock:
        if executors.owner in _sent:
            return
        _sent.add(executors.owner)
        try:
            executors.add_archive()
        except Exception as error:  # noqa: BLE001 - py4j, gRPC, PySpark and the disk have their own
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            logger.warning(
                "evenkey %s was not sent to the executors, which must have it installed: %s",
                sys.modules["evenkey"].__version__,
                reason,
            )


class _Executors(Protocol):
    """The executors of a session, as long as its owner lives."""

    @property
    def owner(self) -> object: ...

    def add_archive(self) -> None:
        """Let Spark deliver the archive to all executors."""


@dataclass(frozen=True)
class _OfContext:
    """The executors of a classic session."""

    owner: SparkContext

    def add_archive(self) -> None:
        """Add the archive from the directory where the driver's Java keeps files of the context.

        The file lives as long as the context, which other Python processes may share, as notebooks
        on one cluster do. Spark accepts a name from one path only, and here the path is always the
        same.
        """
        from pyspark import SparkFiles

        path = Path(SparkFiles.getRootDirectory(), own_package()["archive"])
        if not path.is_file():
            write_whole(path, _archive())
        self.owner.addFile(str(path))


@dataclass(frozen=True)
class _OverConnect:
    """The executors of a session over Connect."""

    owner: SparkSession

    def add_archive(self) -> None:
        with tempfile.TemporaryDirectory(prefix="evenkey-") as directory:
            path = Path(directory, own_package()["archive"])
            path.write_bytes(_archive())
            self.owner.addArtifacts(str(path), file=True)


def _archive() -> bytes:
    """Zip the files of evenkey that tasks need; the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, file in opening.files_below(files("evenkey")):
            entry = zipfile.ZipInfo(f"evenkey/{name}")  # dated 1980
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()
