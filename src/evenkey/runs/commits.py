"""Commits: an epoch's parts become the run's by one exclusive create, and visible after it.

::

    state/
      _staged/00000003/epoch=00000002/results/part-...   written by tasks, under the claim's number
      commits/epoch=00000002.json                        which parts the epoch has, and its figures
    results/epoch=00000002/part-00000.parquet            the same parts, for plain readers

Of all processes that ever ran an epoch, however late one of them wakes up, exactly one creates its
commit; the parts of the others are dropped. What plain readers see is derived from commits, and
made again by whoever goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from evenkey.errors import RunError
from evenkey.files import create_whole, sealed, unsealed
from evenkey.runs.parts import Part, found_parts, stage, verified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

BEFORE = "before"
"""Name of the commit of what was found before the first epoch."""
RESULTS = "results"
"""Place of a run's results."""
_SHOWN = "shown-"


@dataclass(frozen=True)
class Commit:
    """What an epoch left behind.

    Parameters
    ----------
    name
        Of the epoch, or `BEFORE`.
    claim
        Number of the claim under which it ran.
    parts
        Its files, in order of place and number.
    figures
        What the report of the run needs of it.
    """

    name: str
    claim: int
    parts: tuple[Part, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    def of(self, place: str) -> list[Part]:
        """The parts of a place."""
        return [part for part in self.parts if part.place == place]


class Commits:
    """The commits of a run, and the parts that wait for theirs. Travels to tasks.

    Parameters
    ----------
    root
        The run's directory, reachable under the same path from driver and executors.
    claim
        Number of this process's claim; 0 only reads.
    """

    def __init__(self, root: Path, claim: int = 0) -> None:
        self.root = root
        self.claim = claim
        self._directory = root / "state" / "commits"
        self._all_staged = root / "state" / "_staged"

    def stage(
        self, name: str, place: str, number: int, rows: int, content: bytes, form: str = "parquet"
    ) -> Part:
        """Let a part of an epoch wait for its commit; a task that runs again replaces its part.

        Raises
        ------
        RunError
            It cannot be written.
        """
        return stage(self._staged(self.claim, name), place, number, rows, content, form)

    def commit(
        self,
        name: str,
        figures: Mapping[str, float] | None = None,
        reported: Sequence[Part] = (),
    ) -> Commit:
        """Make what waits under this claim the epoch's, unless the epoch has a commit.

        Parameters
        ----------
        name
            Of the epoch.
        figures
            What the report needs of it.
        reported
            Parts that tasks reported to the driver: they go before what else lies in their places.

        Returns
        -------
        Commit
            The one that counts, whoever made it; its parts are visible.

        Raises
        ------
        RunError
            It cannot be written or read.
        """
        file = self._file(name)
        made = None
        try:
            if not file.exists():
                commit = Commit(name, self.claim, self._parts(name, reported), dict(figures or {}))
                self._directory.mkdir(parents=True, exist_ok=True)
                if create_whole(file, sealed(json.dumps(asdict(commit)).encode())):
                    made = commit
        except FileNotFoundError:
            # A newer claim has dropped these parts, as it does when the epoch has a commit.
            made = None
        except OSError as error:
            message = f"{file} cannot be written ({error}): free or choose a directory"
            raise RunError(message) from error
        settled = made or self.read(name)
        if settled is None:
            message = f"{file} is gone: delete the run's output and run again"
            raise RunError(message)
        self._settle(settled)
        return settled

    def _parts(self, name: str, reported: Sequence[Part]) -> tuple[Part, ...]:
        places = {part.place for part in reported}
        staged = found_parts(self._staged(self.claim, name))
        parts = [*reported, *(part for part in staged if part.place not in places)]
        return tuple(sorted(parts, key=lambda part: (part.place, part.number)))

    @property
    def begun(self) -> bool:
        """Whether there is any commit."""
        return self._directory.is_dir()

    def epochs(self) -> list[int]:
        """Numbers of the committed epochs, ascending."""
        names = (file.stem for file in self._directory.glob("epoch=*.json"))
        return sorted(int(name.removeprefix("epoch=")) for name in names)

    def names(self) -> list[str]:
        """Names of all commits, in the order of their making."""
        before = [BEFORE] if self._file(BEFORE).exists() else []
        return before + [epoch_name(epoch) for epoch in self.epochs()]

    def read(self, name: str) -> Commit | None:
        """Read an epoch's commit; None where it has none.

        Raises
        ------
        RunError
            It cannot be read.
        """
        file = self._file(name)
        try:
            fields = json.loads(unsealed(file.read_bytes()))
            fields["parts"] = tuple(Part(**each) for each in fields["parts"])
            return Commit(**fields)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            message = f"{file} cannot be read ({error}): delete the run's output and run again"
            raise RunError(message) from error

    def all(self) -> Iterator[Commit]:
        """Read all commits, in the order of their making."""
        for name in self.names():
            commit = self.read(name)
            if commit is not None:
                yield commit

    def content(self, commit: Commit, part: Part) -> bytes:
        """Read a part of a commit, and make sure that it is what was written.

        Raises
        ------
        RunError
            It cannot be read, has changed, or is gone.
        """
        visible = self._visible(commit, part.place) / part.name
        staged = self._staged(commit.claim, commit.name) / part.place / part.staged_name
        # It becomes visible before it is dropped where it waited.
        for file in (visible, staged, visible):
            try:
                return verified(part, file)
            except FileNotFoundError:
                continue
        message = f"{visible} is gone: put it back, or delete the run's output and run again"
        raise RunError(message)

    def recover(self) -> None:
        """Make visible what earlier processes committed, and drop what none will commit.

        Parts of an epoch without a commit stay: the process that wrote them may hang between its
        last look at its claim and its commit, and would still be right.
        """
        for waiting in sorted(self._all_staged.glob("*/*")):
            if waiting.name.startswith(_SHOWN):
                shutil.rmtree(waiting, ignore_errors=True)
                continue
            commit = self.read(waiting.name)
            if commit is not None:
                self._settle(commit)

    def _settle(self, commit: Commit) -> None:
        """Show a commit's parts to plain readers, and drop what was staged for its epoch."""
        if self._staged(commit.claim, commit.name).is_dir():
            for place, parts in groupby(commit.parts, lambda part: part.place):
                self._show(commit, place, list(parts))
        for waiting in self._all_staged.glob(f"*/{commit.name}"):
            # The tasks of a newer claim still write; it will drop what they wrote itself.
            if int(waiting.parent.name) <= self.claim:
                shutil.rmtree(waiting, ignore_errors=True)

    def _show(self, commit: Commit, place: str, parts: Sequence[Part]) -> None:
        """Let a place's parts of an epoch appear at once, as a whole directory where it can be."""
        waiting = self._staged(commit.claim, commit.name) / place
        target = self._visible(commit, place)
        target.parent.mkdir(parents=True, exist_ok=True)
        together = self._all_staged / f"{self.claim:08d}" / f"{_SHOWN}{uuid.uuid4().hex}"
        together.mkdir(parents=True)
        try:
            for part in parts:
                _link(waiting / part.staged_name, together / part.name)
            try:
                together.rename(target)
            except OSError:  # it is there, whole or in part
                for part in parts:
                    _link(waiting / part.staged_name, target / part.name)
        finally:
            shutil.rmtree(together, ignore_errors=True)

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _staged(self, claim: int, name: str) -> Path:
        return self._all_staged / f"{claim:08d}" / name

    def _visible(self, commit: Commit, place: str) -> Path:
        name = epoch_name(0) if commit.name == BEFORE else commit.name
        return self.root / place / name


def epoch_name(epoch: int) -> str:
    """Name of an epoch's commit and of its directories."""
    return f"epoch={epoch:08d}"


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, unless that is taken or the file has been dealt with."""
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise
