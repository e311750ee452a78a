"""Where a run keeps its files, and what it needs to go on after a restart."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError
from evenkey.files import write_whole
from evenkey.topology.epoch_files import EpochFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

__all__ = ["RunDirectory"]

# What may differ between the runs that share a directory: nothing of the results.
_FREE = {
    "cost_ms",
    "export",
    "kafka_config",
    "master",
    "output",
    "reference_defaults",
    "speed",
    "time_limit",
}


class RunDirectory:
    """The directory of one run: results and dead letters to read, and the run's own state.

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
        self.dead_letters = EpochFiles(str(self.path))
        self.history = self.path / "history"
        self.files = EpochFiles(str(self.state))
        self.checkpoint = self.state / "checkpoint"
        self.tables = self.state / "tables"
        self.unpacked = self.state / "input"
        self.reading = self.state / "reading.pickle"
        self.offsets = self.state / "offsets.json"
        self.paused = self.state / "paused"
        self.closing = self.state / "closing"
        self._manifest = self.state / "manifest.json"

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path | None) -> Iterator[Self]:
        """Open the directory at a path, or without one a temporary directory.

        Yields
        ------
        RunDirectory
            A temporary one is gone afterwards.

        Raises
        ------
        ConfigurationError
            It cannot be made or written.
        """
        if path is not None:
            yield cls(path)
            return
        with tempfile.TemporaryDirectory(prefix="evenkey-run-") as temporary:
            yield cls(Path(temporary))

    @property
    def claimed(self) -> bool:
        """Whether a run has begun here."""
        return self._manifest.exists()

    def claim(self, configuration: Mapping[str, Any]) -> None:
        """Write down what runs here."""
        text = json.dumps(dict(configuration), indent=2, sort_keys=True)
        self.keep(self._manifest, f"{text}\n".encode())

    def check(self, configuration: Mapping[str, Any]) -> None:
        """Make sure that nothing else than `configuration` has begun here.

        Raises
        ------
        ConfigurationError
            Another configuration ran here; the message names each field that differs.
        """
        if not self.claimed:
            return
        try:
            before = json.loads(self._manifest.read_text())
        except ValueError as error:
            message = f"{self._manifest} cannot be read ({error}): choose another output"
            raise ConfigurationError(message) from error
        fields = sorted((set(before) | set(configuration)) - _FREE)
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

    @staticmethod
    def keep(path: Path, content: bytes) -> None:
        """Write a file whole or not at all; it is on the disk when this returns."""
        write_whole(path, content, durable=True)
