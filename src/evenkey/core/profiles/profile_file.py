"""Read and write profiles: JSON of a numbered format, which only the owner of the file may read."""

from __future__ import annotations

import contextlib
import json
import math
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.core.profiles.operations import HotKey, Operation, SampledRows, TaskFigures
from evenkey.core.whole_files import check_format, replacing, try_to_write

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Self

FORMAT = 1
"""Number of the format of profiles that this version of evenkey reads and writes."""

_KIND = "evenkey profile"
_FORGOTTEN = 2.0**-8
"""An operation is dropped when its runs, of which earlier ones count less, add up to less."""
_OWNER_ONLY = 0o600


class Profile(NamedTuple):
    """The recorded operations of a job, by their fingerprints."""

    operations: Mapping[str, Operation]

    def merged(self, other: Profile, at: float) -> Self:
        """Return what both profiles say together, without operations that did not run for long.

        Parameters
        ----------
        other
            Another profile.
        at
            The present time, in seconds since 1970.
        """
        both = dict(self.operations)
        for fingerprint, operation in other.operations.items():
            known = both.get(fingerprint)
            both[fingerprint] = operation if known is None else known.merged(operation)
        kept = {name: each for name, each in both.items() if each.faded(at).runs >= _FORGOTTEN}
        return self._replace(operations=kept)


def read_profile(path: Path) -> Profile:
    """Read a profile.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is no profile, or is of another format.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{path}: the profile cannot be read ({error.strerror}); {_FIX}"
        raise ConfigurationError(message) from None
    except (ValueError, RecursionError):
        message = f"{path}: is no profile, because it is not JSON; {_FIX}"
        raise ConfigurationError(message) from None
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        message = f"{path}: is no profile; {_FIX}"
        raise ConfigurationError(message)
    check_format(str(path), found.get("format"), FORMAT, "delete the file and record a new profile")
    try:
        operations = {str(name): _operation(each) for name, each in found["operations"].items()}
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        message = f"{path}: the profile is corrupt ({type(error).__name__}: {error}); {_FIX}"
        raise ConfigurationError(message) from None
    return Profile(operations)


_FIX = "pass a file that eks.record wrote"


def write_profile(path: Path, profile: Profile) -> None:
    """Replace a file by a profile, completely or not at all; only the owner may read the file.

    Raises
    ------
    ConfigurationError
        The file cannot be written.
    """
    operations = {name: _values(each) for name, each in profile.operations.items()}
    values = {"kind": _KIND, "format": FORMAT, "operations": operations}
    content = json.dumps(values, indent=1, ensure_ascii=False).encode()
    try:
        with replacing(path) as temporary:
            # The file never has another mode, also not before its content is written.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
    except OSError as error:
        raise _unwritable(path, error) from None


def update_profile(path: Path, change: Callable[[Profile], Profile]) -> Profile:
    """Change a profile, or write a new one, while no other program changes it.

    Programs wait for each other on file systems that have locks, and not on Windows.

    Parameters
    ----------
    path
        The file; if it does not exist, an empty profile is changed.
    change
        Function that returns the new profile from the one in the file.

    Returns
    -------
    Profile
        The new profile.

    Raises
    ------
    ConfigurationError
        The file cannot be read or written, or is no profile.
    """
    with _locked(path.parent):
        changed = change(read_profile(path) if path.exists() else Profile({}))
        write_profile(path, changed)
    return changed


def check_writable(path: Path) -> None:
    """Check that a profile can be written, before anything else is done for it.

    Raises
    ------
    ConfigurationError
        It cannot.
    """
    try:
        try_to_write(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    message = (
        f"{path}: the profile cannot be written ({error.strerror}); pass a file in a directory "
        "that exists and that you may write to"
    )
    return ConfigurationError(message)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other programs out of this block, if they lock the same directory."""
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            # A directory that cannot be opened or locked makes no error here: writing reports it.
            with contextlib.suppress(OSError):
                descriptor = os.open(directory, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _values(operation: Operation) -> dict[str, Any]:
    tasks = operation.tasks
    return {
        "operator": operation.operator,
        "keys": list(operation.keys),
        "reads": list(operation.reads),
        "at": _text_of(operation.at),
        "runs": operation.runs,
        "inputs": [_values_of_rows(each) for each in operation.inputs],
        "tasks": None
        if tasks is None
        else {
            "application": tasks.application,
            "at": _text_of(tasks.at),
            "rows": list(tasks.rows),
            "seconds": list(tasks.seconds),
        },
    }


def _values_of_rows(rows: SampledRows) -> dict[str, Any]:
    keys = [
        {"hash": f"{each.hashed:016x}", "rows": each.rows}
        | ({} if each.text is None else {"key": each.text})
        for each in rows.keys
    ]
    return {"rows": rows.rows, "keys": keys}


def _operation(values: Mapping[str, Any]) -> Operation:
    tasks = values["tasks"]
    return Operation(
        str(values["operator"]),
        tuple(map(str, values["keys"])),
        tuple(map(str, values["reads"])),
        _time_of(values["at"]),
        _finite(values["runs"]),
        tuple(_rows_of(each) for each in values["inputs"]),
        None
        if tasks is None
        else TaskFigures(
            str(tasks["application"]),
            _time_of(tasks["at"]),
            tuple(map(int, tasks["rows"])),
            tuple(map(_finite, tasks["seconds"])),
        ),
    )


def _rows_of(values: Mapping[str, Any]) -> SampledRows:
    keys = (
        HotKey(int(each["hash"], 16), _finite(each["rows"]), _key_of(each.get("key")))
        for each in values["keys"]
    )
    return SampledRows(_finite(values["rows"]), tuple(keys))


def _key_of(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    message = f"a key is of type {type(value).__name__}, not text"
    raise ValueError(message)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        message = f"{number} is not a finite number"
        raise ValueError(message)
    return number


def _text_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _time_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
