"""The directory of a run: its files, and the state that it needs after a restart."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore, store_at
from evenkey.core.streams import bare_name
from evenkey.core.whole_files import sealed, unsealed
from evenkey.pipeline.runs.output.claims import Claim
from evenkey.pipeline.runs.output.commits import BEFORE, RESULTS, Commits, epoch_name
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from evenkey.pipeline.runs.output.layouts import Layouts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Self, TypeVar

    from evenkey.core.stores import Store

    Result = TypeVar("Result")

_FORMAT = 4
"""Version of the directory's format; increased when earlier versions become unreadable."""
_MANIFEST = "state/manifest.json"
_FINISHED = "state/finished.json"
_ASKED_TO_PAUSE = "state/paused"
_CHECKPOINT = "state/checkpoint"
_STATE = "state/"


def _may_lie_here(name: str) -> bool:
    """Return whether an object may exist in a directory in which no run has begun.

    A process that ended before its run began may leave state and dead letters.
    """
    top = name.partition("/")[0]
    return top in (_STATE.rstrip("/"), EpochFiles.DEAD_LETTERS, "lost+found") or top.startswith(".")


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Return a text for each option whose value changed, except for the place of the output."""
    return {
        name: f"{name} was {before.get(name)!r} and is now {now.get(name)!r}"
        for name in sorted((before.keys() | now.keys()) - {"format", "output"})
        if before.get(name) != now.get(name)
    }


class RunDirectory:
    """The directory of one run: results and dead letters to read, and the run's own state.

    The directory is in a store that the driver and all executors share. Only the process that holds
    the directory (`opened`) may write; other processes may read.

    Parameters
    ----------
    place
        Path, URI or store of the directory.

    Raises
    ------
    ConfigurationError
        The URI has an unknown scheme.
    """

    OFFSETS = "state/offsets.json"
    """Name of the object with the range of offsets to read from topics."""
    TOPICS = "state/topics.json"
    """Name of the object with the ids of the run's topics. A topic that is created later under the
    same name has another id."""

    def __init__(self, place: str | Path | Store) -> None:
        self.store = store_at(place)
        self.layouts = Layouts(self.store, _MANIFEST)
        self._claim: Claim | None = None
        self._signs: Path | None = None
        self._open_files(None)

    def _open_files(self, claim: Claim | None) -> None:
        if claim is None:
            self.commits = Commits(self.store)
        else:
            self.commits = Commits(self.store, claim.number, claim.mark)
        name = None if self.begun else BEFORE
        self.dead_letters = EpochFiles(self.commits, name=name)
        self.files = EpochFiles(self.commits, _STATE, name)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, place: str | Path | Store | None) -> Iterator[Self]:
        """Open and hold the directory at `place`; None: a temporary directory.

        Yields
        ------
        RunDirectory
            The directory, which this process holds. A temporary directory is deleted afterwards.

        Raises
        ------
        ConfigurationError
            The directory cannot be written, or another process holds it.
        RunError
            Files of an earlier process are lost or cannot be read.
        """
        with contextlib.ExitStack() as stack:
            if place is None:
                temporary = tempfile.TemporaryDirectory(prefix="evenkey-run-")
                place = Path(stack.enter_context(temporary))
            directory = cls(place)
            stack.callback(directory.let_go)
            directory.hold()
            yield directory

    def hold(self) -> None:
        """Claim the directory for this process, and complete unfinished work of an earlier process.

        Raises
        ------
        ConfigurationError
            The directory cannot be written, or another process holds it.
        RunError
            Files of an earlier process are lost or cannot be read.
        """
        self._claim = Claim(self.store)
        self._signs = Path(tempfile.mkdtemp(prefix=f"evenkey-signs-{os.getpid()}-"))
        self._open_files(self._claim)
        self.commits.recover()
        if self.begun:
            self._check_checkpoint()
        self.store.delete(_ASKED_TO_PAUSE)

    def let_go(self) -> None:
        """Release the claim of this process, if it has one."""
        if self._claim is not None:
            self._claim.release()
        if self._signs is not None:
            shutil.rmtree(self._signs, ignore_errors=True)

    def clear(self) -> None:
        """Delete the content of the directory."""
        self.store.clear()

    def _check_checkpoint(self) -> None:
        """Check that Spark's checkpoint has all committed epochs; delete it if it has no epoch.

        Spark logs an epoch before the epoch is committed. If a process is killed while Spark logs
        the first epoch, a partial file remains. Because of this file, Spark would always reject the
        checkpoint.

        Raises
        ------
        RunError
            The checkpoint lacks committed epochs. From it the run would begin them again with other
            rows, or without its open windows.
        """
        names = (name.rpartition("/")[2] for name in self.checkpoint_files.names("offsets"))
        begun = max((int(name) for name in names if name.isdigit()), default=-1)
        committed = max(self.commits.epochs(), default=-1)
        if committed > begun:
            message = (
                f"checkpoint {self.checkpoint} is lost or older than the results, which end with "
                f"epoch {committed}: restore it as it was, or choose another output"
            )
            raise RunError(message)
        if begun < 0:
            self.checkpoint_files.clear()

    @property
    def path(self) -> str:
        """Path or URI of the directory."""
        return self.store.url

    @property
    def state(self) -> Store:
        """The store of the run's own state."""
        return self.store.under("state")

    @property
    def tables(self) -> Store:
        """The routing tables of the current layout."""
        number = self.layouts.newest
        return self.store.under(f"state/tables/{number:08d}" if number else "state/tables")

    def workers_of(self, epoch: int) -> int:
        """Return the number of workers of a committed epoch.

        Raises
        ------
        RunError
            The commit or its layout cannot be read.
        """
        commit = self.commits.read(epoch_name(epoch))
        claim = self.commits.claim if commit is None else commit.claim
        workers: int = self.layouts.of(claim)["workers"]
        return workers

    @property
    def checkpoint(self) -> str:
        """Path or URI of Spark's checkpoint."""
        return self.store.path(_CHECKPOINT)

    @property
    def checkpoint_files(self) -> Store:
        """The store of Spark's checkpoint, to read its logs."""
        return self.store.under(_CHECKPOINT)

    @property
    def history(self) -> Store:
        """The store of the run's history, which has a record of each epoch."""
        return self.store.under("history")

    @property
    def results(self) -> str | Path:
        """Path or URI of the results, for readers."""
        return self.place(RESULTS)

    @property
    def dead_letters_place(self) -> str | Path:
        """Path or URI of the dead letters, for readers."""
        return self.place(EpochFiles.DEAD_LETTERS)

    def place(self, name: str) -> str | Path:
        """Return the location of an object or folder in the directory: a path, or a URI."""
        path = self.store.path(name)
        return Path(path) if isinstance(self.store, LocalStore) else path

    def keep_file(self, name: str, write: Callable[[Path], Result]) -> Result:
        """Call `write` with a path, store the file that it writes there, and return its result.

        Raises
        ------
        RunError
            Another process has taken the directory.
        """
        self.claim.check()
        if isinstance(self.store, LocalStore):
            file = self.store.directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            return write(file)
        with tempfile.TemporaryDirectory(prefix="evenkey-") as scratch:
            file = Path(scratch) / "file"
            result = write(file)
            self.store.put(name, file.read_bytes(), durable=True)
        return result

    def unpacked(self, files: Sequence[Path]) -> Path:
        """Return the directory in which compressed input files are unpacked for all hosts.

        Raises
        ------
        ConfigurationError
            A file is compressed, but files in this store cannot be read by line.
        """
        if isinstance(self.store, LocalStore):
            return self.store.directory / "state" / "input"
        packed = [file for file in files if bare_name(file) != file.name]
        if packed:
            message = (
                f"input {packed[0]} is compressed, and cannot be unpacked into {self.path}: unpack "
                "it where the driver and all executors read it, or name a mounted path as output"
            )
            raise ConfigurationError(message)
        return Path()

    @property
    def claim(self) -> Claim:
        """The claim of this process.

        Raises
        ------
        RunError
            This process has not claimed the directory.
        """
        if self._claim is None:
            message = (
                f"this process has not opened output {self.path}: call RunDirectory.opened first"
            )
            raise RunError(message)
        return self._claim

    @property
    def paused(self) -> Path:
        """The file that tells this process's sources to offer nothing more.

        Sources run on the driver's host, so the file is on that host's disk.
        """
        return self._sign("paused")

    @property
    def closing(self) -> Path:
        """The file that tells this process's sources that the input has ended."""
        return self._sign("closing")

    def _sign(self, name: str) -> Path:
        if self._signs is None:
            message = (
                f"this process has not opened output {self.path}: call RunDirectory.opened first"
            )
            raise RunError(message)
        return self._signs / name

    @property
    def asked_to_pause(self) -> bool:
        """Whether the object ``state/paused`` requests a pause."""
        return self.store.find(_ASKED_TO_PAUSE) is not None

    @property
    def begun(self) -> bool:
        """Whether a run has begun here."""
        return self.store.find(_MANIFEST) is not None

    def begin(self, configuration: Mapping[str, Any]) -> None:
        """Store the configuration, and commit the files that were written before the first epoch.

        Do nothing if a run has already begun here.

        Raises
        ------
        RunError
            Another process has taken the directory, or its files cannot be read or written.
        """
        self.claim.check()
        if self.begun:
            return
        self.commits.commit(BEFORE)
        text = json.dumps({"format": _FORMAT, **configuration}, indent=2, sort_keys=True)
        self.store.create(_MANIFEST, f"{text}\n".encode(), durable=True)
        self._open_files(self.claim)

    def lay_out(self, options: Mapping[str, Any]) -> None:
        """Record the layout with which this process continues the run, if it has changed.

        Parameters
        ----------
        options
            Values of the options by name, as `Configuration.layout` returns them.

        Raises
        ------
        RunError
            Another process has taken the directory, or its files cannot be read or written.
        """
        self.claim.check()
        try:
            self.layouts.change(self.claim.number, options)
        except OSError as error:
            message = (
                f"output {self.path} cannot be written ({error}): free some space, or choose "
                "another directory"
            )
            raise RunError(message) from error

    def finish(self, report: Mapping[str, Any]) -> None:
        """Store the report of the finished run.

        Raises
        ------
        RunError
            Another process has taken the directory.
        """
        self.claim.check()
        self.store.create(_FINISHED, sealed(json.dumps(report).encode()))

    def finished(self) -> dict[str, Any] | None:
        """Read the report of the finished run; None if the run is not finished.

        Raises
        ------
        RunError
            The report cannot be read.
        """
        try:
            content = self.store.find(_FINISHED)
            if content is None:
                return None
            report: dict[str, Any] = json.loads(unsealed(content))
        except (OSError, ValueError) as error:
            path = self.store.path(_FINISHED)
            message = f"{path} cannot be read ({error}): delete it, and run again"
            raise RunError(message) from error
        return report

    def check(
        self,
        configuration: Mapping[str, Any],
        free: Collection[str],
        pinned: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Check that no run with another configuration has begun here.

        Parameters
        ----------
        configuration
            Values of the options by name.
        free
            Options that may differ between processes of a run.
        pinned
            For some of the other options, the reason why they may not differ, for the message.

        Raises
        ------
        ConfigurationError
            A run with another configuration began here (the message names each option that
            differs, also those that may); no run began here, but there are other files; or the
            directory cannot be read.
        RunError
            The layouts of the run cannot be read.
        """
        path = self.store.path(_MANIFEST)
        try:
            content = self.store.find(_MANIFEST)
            others = self.store.names() if content is None else []
            before = {"format": _FORMAT} if content is None else json.loads(content)
            begun_by = before.pop("format", 1)
            same_format = begun_by == _FORMAT and (content is None or self.commits.begun)
            earlier = begun_by < _FORMAT
        except (OSError, ValueError, AttributeError, TypeError) as error:
            message = f"{path} cannot be read ({error}): choose another output"
            raise ConfigurationError(message) from error
        if content is None:
            self._check_nothing_else(others)
            return
        if not same_format:
            which = "an earlier" if earlier else "another"
            message = (
                f"output {self.path} was begun by {which} version of evenkey with other options "
                "and files: finish it with that version, or choose another output"
            )
            raise ConfigurationError(message)
        changed = _changes({**before, **self.layouts.last()}, configuration)
        refused = [
            text + (f", but {pinned[field]}" if field in pinned else "")
            for field, text in changed.items()
            if field not in free
        ]
        if refused:
            also = [text for field, text in changed.items() if field in free]
            listed = "; ".join([*refused, *([f"also {', '.join(also)}"] if also else [])])
            message = (
                f"output {self.path} holds another run ({listed}): choose another output, delete "
                "it, or repeat the previous options to continue it"
            )
            raise ConfigurationError(message)

    def _check_nothing_else(self, names: Sequence[str]) -> None:
        """Check, before a run begins here, that all files come from evenkey or may be ignored."""
        others = [name for name in names if not _may_lie_here(name)]
        if others:
            more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
            message = (
                f"output {self.path} holds {others[0]}{more}, which no run of evenkey wrote: "
                "choose a directory that is empty or does not exist"
            )
            raise ConfigurationError(message)

    def changes(self, configuration: Mapping[str, Any]) -> dict[str, str]:
        """Return a text with the old and the new value of each option that changed, by its name.

        The old values are those of the first process of the run; for options of the layout, those
        of the last one. Without a run there are no changes.

        Parameters
        ----------
        configuration
            Values of the options by name.

        Raises
        ------
        RunError
            The options or the layouts of the run cannot be read.
        """
        if not self.begun:
            return {}
        return _changes({**self.layouts.of(0), **self.layouts.last()}, configuration)

    def check_layout(self, configuration: Mapping[str, Any], names: Collection[str]) -> None:
        """Check that the options of the layout are those of the last layout of the finished run.

        Parameters
        ----------
        configuration
            Values of the options by name.
        names
            The options of the layout, as `Configuration.layout` returns them.

        Raises
        ------
        ConfigurationError
            An option of the layout differs; the message names all options that differ.
        RunError
            The layouts of the run cannot be read.
        """
        changed = self.changes(configuration)
        if changed.keys() & {*names}:
            message = (
                f"output {self.path} holds a finished run ({'; '.join(changed.values())}): choose "
                "another output, or repeat its options to see its figures"
            )
            raise ConfigurationError(message)

    def keep(self, name: str, content: bytes) -> None:
        """Write an object completely or not at all; it is durable when this method returns.

        Raises
        ------
        RunError
            Another process has taken the directory.
        """
        self.claim.check()
        self.store.put(name, content, durable=True)
