"""Write the checkpoints of queries on this machine's disks without starting processes."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_OF_FILE_SYSTEMS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

_starting = threading.Lock()
"""Held while a query starts, so that another run does not take the manager for the user's."""


@contextlib.contextmanager
def fewer_processes(session: SparkSession, checkpoint: str) -> Iterator[None]:
    """Let a query that starts in this block write its checkpoint without starting processes.

    Spark's usual manager of checkpoint files asks Hadoop whether a file is a symbolic link. On
    local disks, Hadoop starts the program ``readlink`` to find out, two times for each file, which
    makes some hundred processes in an epoch. Spark's manager for other file systems renames files
    in the same way, and does not ask. A manager in the session's settings stays.

    Parameters
    ----------
    session
        Classic session of the query.
    checkpoint
        Path or URI of the checkpoint; nothing changes if it is not on a local file system.
    """
    with _starting:
        if session.conf.get(_MANAGER, None) is not None or not _is_local(session, checkpoint):
            yield
            return
        session.conf.set(_MANAGER, _OF_FILE_SYSTEMS)
        try:
            yield
        finally:
            session.conf.unset(_MANAGER)


def _is_local(session: SparkSession, checkpoint: str) -> bool:
    """Return whether Hadoop has a path or URI on its local file system."""
    scheme = urlsplit(checkpoint).scheme
    if not scheme:
        hadoop = session.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr] # noqa: SLF001
        settings = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        scheme = hadoop.FileSystem.getDefaultUri(settings).getScheme()
    return scheme == "file"
