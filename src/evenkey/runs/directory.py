"""Where a run keeps its files, and what it needs to go on after a restart."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError, RunError
from evenkey.files import create_whole, sealed, unsealed, write_whole
from evenkey.runs.claims import Claim
from evenkey.runs.commits import BEFORE, Commits
from evenkey.runs.epoch_files import EpochFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Self

_FORMAT = 2
"""Of what lies in the directory; the first is that of version 0.1."""


class RunDirectory:
    """The directory of one run: results and dead letters to read, and the run's own state.

    Only a process that holds it (`opened`) may write; any other may look.

    Parameters
    ----------
    path
        The directory; made when it is not there.

    Raises
    ------
    ConfigurationError
        It cannot be made or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.state = self.path / "state"
        try:
            self.state.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.state):
                pass
        except OSError as error:
            message = (
                f"output {self.path} cannot be written ({error.strerror}): choose another directory"
            )
            raise ConfigurationError(message) from error
        self.results = self.path / "results"
        self.history = self.path / "history"
        self.checkpoint = self.state / "checkpoint"
        self.tables = self.state / "tables"
        self.unpacked = self.state / "input"
        self.reading = self.state / "reading.npz"
        self.offsets = self.state / "offsets.json"
        self.asked_to_pause = self.state / "paused"
        self._manifest = self.state / "manifest.json"
        self._finished = self.state / "finished.json"
        self._claim: Claim | None = None
        self._open_files(0)

    def _open_files(self, claim: int) -> None:
        self.commits = Commits(self.path, claim)
        name = None if self.begun else BEFORE
        self.dead_letters = EpochFiles(self.path, self.commits, name)
        self.files = EpochFiles(self.state, self.commits, name)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path | None) -> Iterator[Self]:
        """Hold the directory at a path, or without one a temporary directory.

        Yields
        ------
        RunDirectory
            Held by this process. A temporary one is gone afterwards.

        Raises
        ------
        ConfigurationError
            It cannot be made or written, or another process holds it.
        RunError
            What an earlier process left cannot be read.
        """
        with contextlib.ExitStack() as stack:
            if path is None:
                temporary = tempfile.TemporaryDirectory(prefix="evenkey-run-")
                path = Path(stack.enter_context(temporary))
            directory = cls(path)
            directory.hold()
            stack.callback(directory.claim.release)
            yield directory

    def hold(self) -> None:
        """Claim the directory for this process, and mend what an earlier one left half done.

        Raises
        ------
        ConfigurationError
            Another process holds it.
        RunError
            What an earlier process left cannot be read.
        """
        self._claim = Claim(self.path, self.state / "claims")
        self._open_files(self._claim.number)
        self.commits.recover()
        self._forget_unused_checkpoint()
        self.asked_to_pause.unlink(missing_ok=True)

    def _forget_unused_checkpoint(self) -> None:
        """Delete a checkpoint in which no epoch was ever begun.

        A process that is killed while Spark writes down its very first epoch leaves a part of that
        file, for which Spark refuses the checkpoint for good.
        """
        if self.checkpoint.exists() and not any((self.checkpoint / "offsets").glob("[0-9]*")):
            shutil.rmtree(self.checkpoint)

    @property
    def claim(self) -> Claim:
        """The claim of this process.

        Raises
        ------
        RunError
            It has none.
        """
        if self._claim is None:
            message = f"output {self.path} is not held by this process: open it first"
            raise RunError(message)
        return self._claim

    @property
    def paused(self) -> Path:
        """Where this process's sources find the sign to offer no more."""
        return self.claim.sign("paused")

    @property
    def closing(self) -> Path:
        """Where this process's sources find the sign that the input is at its end."""
        return self.claim.sign("closing")

    @property
    def begun(self) -> bool:
        """Whether a run has begun here."""
        return self._manifest.exists()

    def begin(self, configuration: Mapping[str, Any]) -> None:
        """Write down what runs here, and commit what was found before; nothing if it has begun.

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
        create_whole(self._manifest, f"{text}\n".encode(), durable=True)
        self._open_files(self.claim.number)

    def finish(self, report: Mapping[str, Any]) -> None:
        """Write down the report of the run that is finished.

        Raises
        ------
        RunError
            Another process has taken the directory.
        """
        self.claim.check()
        create_whole(self._finished, sealed(json.dumps(report).encode()))

    def finished(self) -> dict[str, Any] | None:
        """Read the report of the run that is finished; None while it is not.

        Raises
        ------
        RunError
            It cannot be read.
        """
        try:
            report: dict[str, Any] = json.loads(unsealed(self._finished.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            message = f"{self._finished} cannot be read ({error}): delete it, and run again"
            raise RunError(message) from error
        return report

    def check(self, configuration: Mapping[str, Any], free: Collection[str]) -> None:
        """Make sure that nothing else than `configuration` has begun here.

        Parameters
        ----------
        configuration
            By the names of the options.
        free
            Options that may differ between the runs that share a directory.

        Raises
        ------
        ConfigurationError
            Another configuration ran here; the message names each field that differs.
        """
        if not self.begun:
            return
        try:
            before = json.loads(self._manifest.read_text())
            begun_by = before.pop("format", 1)
        except (ValueError, AttributeError) as error:
            message = f"{self._manifest} cannot be read ({error}): choose another output"
            raise ConfigurationError(message) from error
        if begun_by != _FORMAT or not self.commits.begun:
            which = "an earlier" if begun_by < _FORMAT else "another"
            message = (
                f"output {self.path} was begun by {which} version of evenkey, whose options and "
                "files are others: finish it with that version, or choose another output"
            )
            raise ConfigurationError(message)
        fields = sorted((set(before) | set(configuration)) - set(free))
        changed = [
            f"{field} was {before.get(field)!r} and is now {configuration.get(field)!r}"
            for field in fields
            if before.get(field) != configuration.get(field)
        ]
        if changed:
            message = (
                f"output {self.path} holds another run ({'; '.join(changed)}): choose another "
                "output, delete it, or repeat the options of before to go on with it"
            )
            raise ConfigurationError(message)

    def keep(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all; it is on the disk when this returns.

        Raises
        ------
        RunError
            Another process has taken the directory.
        """
        self.claim.check()
        write_whole(path, content, durable=True)
