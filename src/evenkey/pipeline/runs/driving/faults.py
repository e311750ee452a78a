"""Explain errors of a running query by their causes."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from typing import TYPE_CHECKING

from evenkey.core.errors import RunError, of_file_handles, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.pipeline.runs.output.directory import RunDirectory

_DISK_FULL = os.strerror(errno.ENOSPC)
_OF_A_TASK = re.compile(
    r"(?:^evenkey\.core\.errors\.RunError:|\[USER_RAISED_EXCEPTION\]) (.+?)(?: SQLSTATE: \w+)*$",
    re.MULTILINE,
)
"""Finds evenkey's own message in the text of Spark's error. Either a task raised the error itself,
or rows that wait for the result of such a task raised its message with Spark's ``raise_error``."""


@contextlib.contextmanager
def file_handles_named() -> Iterator[None]:
    """If too few file handles caused an error, raise an error that names the limit instead.

    Raises
    ------
    RunError
        There were too few file handles; the message names the limit.
    """
    try:
        yield
    except Exception as error:
        named = of_file_handles(error)
        if named is None:
            raise
        raise named from error


@contextlib.contextmanager
def faults_named(directory: RunDirectory) -> Iterator[None]:
    """For known errors from inside Spark, raise an error that names the cause and the fix instead.

    Raises
    ------
    RunError
        Another process has taken the directory (Spark may report any error for this); a task
        raised a `RunError`; or a disk is full.
    """
    try:
        yield
        directory.claim.check()
    except Exception as error:
        directory.claim.check()
        text = text_of(error)
        if _DISK_FULL in text:
            message = (
                f"a disk is full ({_DISK_FULL}): the disk of {directory.path}, or the disk of "
                "Spark's temporary files; free some space and run the same command again, which "
                "continues where this run stopped"
            )
            raise RunError(message) from error
        of_tasks = _OF_A_TASK.findall(text)
        if of_tasks:
            raise RunError(of_tasks[-1]) from error
        raise
