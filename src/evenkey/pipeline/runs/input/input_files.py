"""Record the input files of a run; a finished run rejects other or changed files."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.whole_files import sealed, unsealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from evenkey.core.stores import Store
    from evenkey.pipeline.runs.output.directory import RunDirectory

INPUT = "state/input.json"
"""Name of the object with the sizes, modification times and digests of the input files."""


@contextmanager
def digested(files: Sequence[Path]) -> Iterator[Callable[[RunDirectory], None]]:
    """Compute digests of files in a thread, while Spark starts.

    Yields
    ------
    callable
        Function that waits for the digests, and stores them in a run's directory.
    """
    # Record sizes and times first: a file that changes from now on then differs from its record.
    noted = [_noted(file) for file in files]
    with ThreadPoolExecutor(1, "evenkey-digests") as pool:
        digests = pool.map(_digest, files)

        def keep(directory: RunDirectory) -> None:
            found = [
                {**each, "digest": digest} for each, digest in zip(noted, digests, strict=True)
            ]
            directory.keep(INPUT, sealed(json.dumps(found).encode()))

        try:
            yield keep
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def check_same_input(store: Store, files: Sequence[Path]) -> None:
    """Check that files are those that a finished run read, with unchanged content.

    A file counts as unchanged if it has the same size, and either the same modification time or the
    same content.

    Parameters
    ----------
    store
        The store of the run's directory.
    files
        The files that the options name now.

    Raises
    ------
    ConfigurationError
        A file differs; the message names it.
    RunError
        The run's record of its files cannot be read.
    """
    try:
        noted: list[dict[str, Any]] = json.loads(unsealed(store.read(INPUT)))
    except (OSError, ValueError) as error:
        message = f"{store.path(INPUT)} cannot be read ({error}): choose another output"
        raise RunError(message) from error
    before = {each["path"]: each for each in noted}
    for gone in sorted(before.keys() - set(map(str, files))):
        raise _other(store, gone, "is gone since that run began")
    for file in files:
        known = before.get(str(file))
        if known is None:
            raise _other(store, file, "was not read by that run")
        now = _noted(file)
        same = now["size"] == known["size"] and (
            now["changed_ns"] == known["changed_ns"] or _digest(file) == known["digest"]
        )
        if not same:
            raise _other(store, file, "has changed since that run began")


def _noted(file: Path) -> dict[str, Any]:
    try:
        found = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from error
    return {"path": str(file), "size": found.st_size, "changed_ns": found.st_mtime_ns}


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "blake2b").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: OSError) -> ConfigurationError:
    message = f"input {file} cannot be read ({error.strerror}): check its permissions"
    return ConfigurationError(message)


def _other(store: Store, file: Path | str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"output {store.url} holds a finished run, but input {file} {what}: restore the input to "
        "see that run's figures, or choose another output"
    )
