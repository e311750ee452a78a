"""Errors that evenkey raises on purpose; their messages name the cause and the fix."""

from __future__ import annotations

import errno
import os
from typing import Any

resource: Any
try:
    # Imported early, because no module can be loaded once no file handle is left.
    import resource
except ImportError:  # Windows
    resource = None


class EvenkeyError(Exception):
    """Base class of every error that evenkey raises on purpose.

    Examples
    --------
    >>> issubclass(ConfigurationError, EvenkeyError), issubclass(RunError, EvenkeyError)
    (True, True)
    """


class ConfigurationError(EvenkeyError, ValueError):
    """An invalid option, name, path or value.

    After this error, the command line exits with code 2.

    Examples
    --------
    >>> from evenkey.groupings import PartialKeyGrouping
    >>> PartialKeyGrouping(choices=0)
    Traceback (most recent call last):
    evenkey.core.errors.ConfigurationError: pkg: choices = 0: must be at least 1 choice
    """


class RunError(EvenkeyError, RuntimeError):
    """A run failed, or state that a run left behind cannot be read.

    After this error, the command line exits with code 1.

    Examples
    --------
    >>> try:
    ...     raise RunError("the output was taken by another process")
    ... except EvenkeyError as error:
    ...     print(error)
    the output was taken by another process
    """


def text_of(error: BaseException) -> str:
    """Return the text of an error; an empty text for a Java error whose process has died.

    Examples
    --------
    >>> text_of(ValueError("workers = 0"))
    'workers = 0'
    """
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - reading the text can fail with any error
        return ""


def of_file_handles(error: BaseException) -> RunError | None:
    """Return an error about the limit of open files if this limit caused `error`; otherwise None.

    Examples
    --------
    >>> of_file_handles(OSError(errno.ENOENT, "No such file or directory")) is None
    True
    >>> str(of_file_handles(OSError(errno.EMFILE, "Too many open files", "a.csv")))
    'too few file handles (Too many open files): ...; raise the limit (ulimit -n 65536), ...'
    """
    cause: BaseException | None = error
    while cause is not None:
        if any(reason in text_of(cause) for reason in _NO_HANDLES):
            return too_few_handles(most_handles())
        cause = cause.__cause__ or cause.__context__
    return None


def too_few_handles(limit: int | None) -> RunError:
    """Make the error that names the limit of open files, and says how to raise it."""
    most = "" if limit is None else f": a process here may have {limit} files open"
    return RunError(
        f"too few file handles ({os.strerror(errno.EMFILE)}){most}; raise the limit "
        "(ulimit -n 65536), on a cluster on all hosts, and give the same command again"
    )


def most_handles(*, hard: bool = False) -> int | None:
    """Return how many files a process may have open; None if there is no limit.

    Parameters
    ----------
    hard
        Whether to return the hard limit. A process can raise its own limit up to the hard limit, as
        Java does.
    """
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[int(hard)]
    return None if limit == resource.RLIM_INFINITY else limit


_NO_HANDLES = (os.strerror(errno.EMFILE), os.strerror(errno.ENFILE))
