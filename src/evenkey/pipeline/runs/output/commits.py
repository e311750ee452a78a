"""Commits: an epoch's parts become the run's by one exclusive create, and visible after it.

::

    state/
      parts/epoch=00000002/00000003/results/part-...     written by tasks, under the claim's number
      commits/epoch=00000002.json                        which parts the epoch has, and its figures
    results/epoch=00000002/part-00000.parquet            the same parts, for plain readers

Of all processes that ever ran an epoch, however late one of them wakes up, exactly one creates its
commit; the parts of the others are dropped. What plain readers see is derived from commits, and
made again by whoever goes on. Parts of the run's own state, which no plain reader looks for, stay
where tasks wrote them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evenkey.core.errors import RunError
from evenkey.core.stores import OUTPUT_REMEDY, at_once, store_at, unseen
from evenkey.core.whole_files import digest_of, sealed, unsealed
from evenkey.pipeline.runs.output.parts import Part, found_parts, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenkey.core.stores import SharedMark, Store

BEFORE = "before"
"""Name of the commit of what was found before the first epoch."""
RESULTS = "results"
"""Place of a run's results."""
_STATE = "state/"
_COMMITS = "state/commits"
_PARTS = "state/parts"


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
    output
        The run's directory, or its store.
    claim
        Number of this process's claim; 0 only reads.
    mark
        What a task must find before it writes; None: nothing.
    """

    def __init__(
        self, output: str | Path | Store, claim: int = 0, mark: SharedMark | None = None
    ) -> None:
        self.store = store_at(output)
        self.claim = claim
        self._mark = mark
        self._known: dict[str, Commit] = {}  # a commit never changes

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_known": {}}

    def stage(
        self,
        name: str,
        place: str,
        number: int,
        rows: int,
        content: bytes,
        form: str = "parquet",
        *,
        took: int = 0,
        gave: int = 0,
    ) -> Part:
        """Let a part of an epoch wait for its commit; a task that runs again replaces its part.

        Parameters
        ----------
        name
            Of the epoch, or `BEFORE`.
        place, number, rows, form, took, gave
            As for `Part`.
        content
            Its bytes.

        Raises
        ------
        RunError
            It cannot be written, or the driver would not see it.
        """
        self.check_shared()
        part = Part(place, number, rows, len(content), digest_of(content), form, took, gave)
        target = self._staged(self.claim, name, part)
        try:
            self.store.put(target, content)
        except OSError as error:
            raise self._unwritable(target, error) from error
        return part

    def check_shared(self) -> None:
        """Make sure that this process sees what the driver wrote.

        Raises
        ------
        RunError
            It does not.
        """
        if self._mark is not None:
            self._mark.check()

    def commit(
        self,
        name: str,
        figures: Mapping[str, float] | None = None,
        reported: Sequence[tuple[Part, str]] = (),
        check: Callable[[Sequence[Part]], None] = lambda _: None,
    ) -> Commit:
        """Make what waits under this claim the epoch's, unless the epoch has a commit.

        Parameters
        ----------
        name
            Of the epoch.
        figures
            What the report needs of it.
        reported
            Parts that tasks reported to the driver, each with the host of its task: they go before
            what else lies in their places.
        check
            Is called with the parts before they are committed, and raises where they must not be.

        Returns
        -------
        Commit
            The one that counts, whoever made it; its parts are visible.

        Raises
        ------
        RunError
            It cannot be written or read, or a part that was reported is not there.
        """
        file = _file(name)
        try:
            settled = self.read(name) or self._made(name, figures or {}, reported, check)
            if settled is None:
                message = f"{self.store.path(file)} is gone: delete the run's output and run again"
                raise RunError(message)
            self._settle(settled)
        except OSError as error:
            raise self._unwritable(file, error) from error
        return settled

    def _made(
        self,
        name: str,
        figures: Mapping[str, float],
        reported: Sequence[tuple[Part, str]],
        check: Callable[[Sequence[Part]], None],
    ) -> Commit | None:
        """Create an epoch's commit, or read the one that another process created first."""
        try:
            parts = self._parts(name, reported)
            check(parts)
        except RunError:
            # A newer claim drops these parts, as soon as the epoch has a commit.
            committed = self.read(name)
            if committed is None:
                raise
            return committed
        commit = Commit(name, self.claim, parts, dict(figures))
        if not self.store.create(_file(name), sealed(json.dumps(asdict(commit)).encode())):
            return self.read(name)
        self._known[name] = commit
        return commit

    def _parts(self, name: str, reported: Sequence[tuple[Part, str]]) -> tuple[Part, ...]:
        """Find the parts of an epoch that wait under this claim."""
        prefix = _epoch(name)
        names = self.store.names(prefix)
        written = [(self._staged(self.claim, name, part), host) for part, host in reported]
        missing = [each for each in written if each[0] not in names]
        # A listing may come late where a read does not.
        for place, host in missing:
            if self.store.find(place) is None:
                raise unseen(self.store.path(place), f"host {host}", OUTPUT_REMEDY)
        places = {part.place for part, _ in reported}
        staged = found_parts(names, f"{prefix}/{self.claim:08d}/")
        parts = [part for part, _ in reported]
        parts += [part for part in staged if part.place not in places]
        return tuple(sorted(parts, key=lambda part: (part.place, part.number)))

    @property
    def begun(self) -> bool:
        """Whether there is any commit."""
        return bool(self.store.names(_COMMITS))

    def epochs(self) -> list[int]:
        """Numbers of the committed epochs, ascending."""
        return sorted(number_of(name) for name in self._names() if name != BEFORE)

    def names(self) -> list[str]:
        """Names of all commits, in the order of their making."""
        return sorted(self._names(), key=lambda name: -1 if name == BEFORE else number_of(name))

    def _names(self) -> list[str]:
        files = self.store.names(_COMMITS)
        return [file.removeprefix(f"{_COMMITS}/").removesuffix(".json") for file in files]

    def read(self, name: str) -> Commit | None:
        """Read an epoch's commit; None where it has none.

        Raises
        ------
        RunError
            It cannot be read.
        """
        if name in self._known:
            return self._known[name]
        file = _file(name)
        try:
            content = self.store.find(file)
            if content is None:
                return None
            fields = json.loads(unsealed(content))
            fields["parts"] = tuple(Part(**each) for each in fields["parts"])
            commit = Commit(**fields)
            if commit.name != name or not all(_is_inside(part) for part in commit.parts):
                message = "it names another epoch, or a place outside of the run"
                raise ValueError(message)  # noqa: TRY301 - told as the others are
            self._known[name] = commit
            return self._known[name]
        except (OSError, ValueError, TypeError, KeyError) as error:
            message = (
                f"{self.store.path(file)} cannot be read ({error}): delete the run's output and "
                "run again"
            )
            raise RunError(message) from error

    def all(self) -> list[Commit]:
        """Read all commits, in the order of their making."""
        return self.of(self.names())

    def total(self, figure: str) -> int:
        """Add up a figure of all epochs."""
        return int(sum(commit.figures.get(figure, 0) for commit in self.all()))

    def of(self, names: Sequence[str]) -> list[Commit]:
        """Read the commits of some names, of those that have one.

        Raises
        ------
        RunError
            One cannot be read.
        """
        at_once(self.read, [name for name in names if name not in self._known])
        return [each for name in names if (each := self._known.get(name)) is not None]

    def content(self, commit: Commit, part: Part) -> bytes:
        """Read a part of a commit, and make sure that it is what was written.

        Raises
        ------
        RunError
            It cannot be read, has changed, or is gone.
        """
        staged, visible = self._staged(commit.claim, commit.name, part), _visible(commit, part)
        # It becomes visible before it is dropped where it waited.
        places = (staged,) if visible is None else (visible, staged, visible)
        for name in places:
            try:
                return verified(part, self.store, name)
            except FileNotFoundError:
                continue
        path = self.store.path(places[-1])
        message = f"{path} is gone: put it back, or delete the run's output and run again"
        raise RunError(message)

    def recover(self) -> None:
        """Make visible what an earlier process committed, and drop what none will commit.

        Only the newest epoch can need it: whoever commits one, or finds it committed, does this
        before it begins the next. Parts of an epoch without a commit stay: the process that wrote
        them may hang between its last look at its claim and its commit, and would still be right.

        Raises
        ------
        RunError
            It cannot be read or written.
        """
        for name in self.names()[-1:]:
            commit = self.read(name)
            if commit is not None:
                try:
                    self._settle(commit)
                except OSError as error:
                    raise self._unwritable(_file(name), error) from error

    def _settle(self, commit: Commit) -> None:
        """Show a commit's parts to plain readers, and drop what was staged for its epoch."""
        waiting = set(self.store.names(_epoch(commit.name)))
        shown, kept = [], set()
        for part in commit.parts:
            staged, visible = self._staged(commit.claim, commit.name, part), _visible(commit, part)
            if visible is None:
                kept.add(staged)
            elif staged in waiting:
                shown.append((part, staged, visible))
        at_once(lambda one: self._show(*one), shown)
        # The tasks of a newer claim still write; it will drop what they wrote itself.
        dropped = [name for name in waiting - kept if _claim_of(name) <= self.claim]
        at_once(self.store.delete, dropped)

    def _show(self, part: Part, staged: str, visible: str) -> None:
        """Let a part appear, unless another process does it just now and has dropped the first."""
        try:
            content = verified(part, self.store, staged)
        except FileNotFoundError:
            return
        self.store.put(visible, content)

    def _staged(self, claim: int, name: str, part: Part) -> str:
        return f"{_epoch(name)}/{claim:08d}/{part.place}/{part.staged_name}"

    def _unwritable(self, name: str, error: OSError) -> RunError:
        path = self.store.path(name)
        return RunError(f"{path} cannot be written ({error}): free or choose a directory")


def _is_inside(part: Part) -> bool:
    """Whether a part's place is one below the run's directory."""
    places = PurePosixPath(part.place).parts
    return part.form in ("parquet", "json") and not {"..", "/", "//"} & set(places)


def epoch_name(epoch: int) -> str:
    """Name of an epoch's commit and of its directories."""
    return f"epoch={epoch:08d}"


def number_of(name: str) -> int:
    """Number of the epoch that has a name."""
    return int(name.removeprefix("epoch="))


def _file(name: str) -> str:
    return f"{_COMMITS}/{name}.json"


def _epoch(name: str) -> str:
    """Where the parts of an epoch are staged, of all claims."""
    return f"{_PARTS}/{name}"


def _claim_of(staged: str) -> int:
    return int(staged.removeprefix(f"{_PARTS}/").split("/")[1])


def _visible(commit: Commit, part: Part) -> str | None:
    """Where plain readers find a part; None where they do not look for it."""
    if part.place.startswith(_STATE):
        return None
    name = epoch_name(0) if commit.name == BEFORE else commit.name
    return f"{part.place}/{name}/{part.name}"
