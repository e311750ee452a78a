"""Commits: one exclusive create commits an epoch's parts, which then become visible.

::

    state/
      parts/epoch=00000002/00000003/results/part-...     written by tasks, under the claim's number
      commits/epoch=00000002.json                        lists the epoch's parts and figures
    results/epoch=00000002/part-00000.parquet            the same parts, for plain readers

Of all processes that ever run an epoch, at any time, exactly one creates the epoch's commit; the
parts of the other processes are dropped. Plain readers are programs that read files without looking
at commits. The files for plain readers are copies of committed parts, and the process that
continues the run creates missing copies. Parts of the run's own state stay where tasks wrote them.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.errors import RunError
from evenkey.core.stores import OUTPUT_REMEDY, at_once, store_at, unseen
from evenkey.core.whole_files import digest_of, sealed, unsealed
from evenkey.pipeline.runs.output.parts import Part, found_parts, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenkey.core.stores import SharedMark, Store

BEFORE = "before"
"""Name of the commit before the first epoch."""
RESULTS = "results"
"""Folder of a run's results."""
_STATE = "state/"
_COMMITS = "state/commits"
_PARTS = "state/parts"
_COMMIT = re.compile(rf"{_COMMITS}/(?P<name>{BEFORE}|epoch=\d{{8,18}})\.json", re.ASCII)
_STAGED = re.compile(rf"{_PARTS}/[^/]+/(\d{{8,18}})/", re.ASCII)


class Span(NamedTuple):
    """Times of an epoch, in ms.

    Parameters
    ----------
    began
        When Spark requested the epoch from the source, in ms since 1970.
    waited
        Time from this request until the source offered the epoch. With an arrival rate, the source
        offers an epoch when the epoch's messages have arrived.
    length
        Time from the offer of the epoch to its commit: the duration of the epoch.
    held
        Whether the epoch had input; an epoch that only closes windows has none.
    """

    began: float
    waited: float
    length: float
    held: bool = True

    @property
    def offered(self) -> float:
        """When the source offered the epoch, in ms since 1970."""
        return self.began + self.waited

    @property
    def ended(self) -> float:
        """Time of the epoch's commit, in ms since 1970."""
        return self.offered + self.length


@dataclass(frozen=True)
class Commit:
    """The commit of an epoch.

    Parameters
    ----------
    name
        Name of the epoch, or `BEFORE`.
    claim
        Number of the claim under which the epoch ran.
    parts
        The parts of the epoch, in order of folder and task.
    figures
        Figures of the epoch for the report of the run.
    """

    name: str
    claim: int
    parts: tuple[Part, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    def of(self, place: str) -> list[Part]:
        """Return the parts in a folder."""
        return [part for part in self.parts if part.place == place]


class Commits:
    """The commits of a run, and its staged parts; tasks get a pickled copy of the object.

    Parameters
    ----------
    output
        The run's directory, or its store.
    claim
        Number of this process's claim; 0: the process only reads.
    mark
        The object that a task must find before it writes, as proof that it sees the driver's files;
        None: no check.
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
        """Stage a part of an epoch for its commit; a task that runs again replaces its part.

        Parameters
        ----------
        name
            Name of the epoch, or `BEFORE`.
        place, number, rows, form, took, gave
            See `Part`.
        content
            Bytes of the part.

        Raises
        ------
        RunError
            The part cannot be written, or this process does not see the driver's files.
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
        """Check that this process sees the driver's files.

        Raises
        ------
        RunError
            This process does not see the driver's files.
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
        """Commit the parts staged under this claim, unless the epoch already has a commit.

        Parameters
        ----------
        name
            Name of the epoch.
        figures
            Figures of the epoch for the report.
        reported
            Parts that tasks reported to the driver, each with the host of its task. In the folders
            of these parts, other staged files are ignored.
        check
            Function that is called with the parts before the commit, and raises an error if they
            must not be committed.

        Returns
        -------
        Commit
            The valid commit, of this or another process; its parts are visible.

        Raises
        ------
        RunError
            The commit cannot be written or read, or a reported part is missing.
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
        """Create an epoch's commit, or read the commit that another process created first."""
        try:
            parts = self._parts(name, reported)
            check(parts)
        except RunError:
            # Parts are also missing if a newer claim has committed the epoch and dropped them.
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
        """Find the staged parts of an epoch under this claim."""
        prefix = _epoch(name)
        names = self.store.names(prefix)
        written = [(self._staged(self.claim, name, part), host) for part, host in reported]
        missing = [each for each in written if each[0] not in names]
        # A listing may lag behind the writes, but a read does not.
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
        """Return whether there is any commit."""
        return bool(self._names())

    def epochs(self) -> list[int]:
        """Return the numbers of the committed epochs, ascending."""
        return sorted(number_of(name) for name in self._names() if name != BEFORE)

    def names(self) -> list[str]:
        """Return the names of all commits, in order of creation."""
        return sorted(self._names(), key=lambda name: -1 if name == BEFORE else number_of(name))

    def _names(self) -> list[str]:
        """Return the names of all commits, without files that somebody else has put there."""
        files = map(_COMMIT.fullmatch, self.store.names(_COMMITS))
        return [found["name"] for found in files if found]

    def of_epoch(self, epoch: int) -> Commit | None:
        """Read the commit of an epoch by its number; see `read`."""
        return self.read(epoch_name(epoch))

    def read(self, name: str) -> Commit | None:
        """Read an epoch's commit; None if the epoch has no commit.

        Raises
        ------
        RunError
            The commit cannot be read.
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
            if commit.name != name or not all(part.is_inside for part in commit.parts):
                message = "it names another epoch, or a place outside of the run"
                raise ValueError(message)  # noqa: TRY301 - reported like the others
            self._known[name] = commit
            return self._known[name]
        except (OSError, ValueError, TypeError, KeyError) as error:
            message = (
                f"{self.store.path(file)} cannot be read ({error}): delete the run's output and "
                "run again"
            )
            raise RunError(message) from error

    def all(self) -> list[Commit]:
        """Read all commits, in order of creation."""
        return self.of(self.names())

    def total(self, figure: str) -> int:
        """Add up a figure of all epochs."""
        return int(sum(commit.figures.get(figure, 0) for commit in self.all()))

    def of(self, names: Sequence[str]) -> list[Commit]:
        """Read the commits with the given names; names without a commit are left out.

        Raises
        ------
        RunError
            A commit cannot be read.
        """
        at_once(self.read, [name for name in names if name not in self._known])
        return [each for name in names if (each := self._known.get(name)) is not None]

    def earlier_spans(self) -> dict[int, tuple[int, Span]]:
        """Return, by number, the claim and times of each epoch that an earlier process committed.

        An epoch lasts from its start in Spark's log to its commit.
        """
        spans = {}
        for epoch in self.epochs():
            commit = self.of_epoch(epoch)
            if commit is not None and commit.claim != self.claim and "began" in commit.figures:
                began, ended = 1000 * commit.figures["began"], 1000 * commit.figures["ended"]
                held = bool(commit.figures["held"])
                spans[epoch] = (commit.claim, Span(began, 0.0, ended - began, held))
        return spans

    def content(self, commit: Commit, part: Part) -> bytes:
        """Read a part of a commit, and check its digest.

        Raises
        ------
        RunError
            The part cannot be read, has changed, or is gone.
        """
        staged, visible = self._staged(commit.claim, commit.name, part), _visible(commit, part)
        # Another process may make the part visible, and then delete its staged file, between these
        # attempts: so try the visible file again at the end.
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
        """Make the parts of an earlier commit visible, and delete parts that no one will commit.

        Only the newest epoch can need this, because each process makes the parts of an epoch
        visible before it begins the next epoch. Parts of an epoch without a commit stay. The
        process that wrote them may hang between the last check of its claim and its commit, and
        this commit would still be valid.

        Raises
        ------
        RunError
            Files cannot be read or written.
        """
        for name in self.names()[-1:]:
            commit = self.read(name)
            if commit is not None:
                try:
                    self._settle(commit)
                except OSError as error:
                    raise self._unwritable(_file(name), error) from error

    def _settle(self, commit: Commit) -> None:
        """Make a commit's parts visible to plain readers, and delete the epoch's staged files."""
        waiting = set(self.store.names(_epoch(commit.name)))
        shown, kept = [], set()
        for part in commit.parts:
            staged, visible = self._staged(commit.claim, commit.name, part), _visible(commit, part)
            if visible is None:
                kept.add(staged)
            elif staged in waiting:
                shown.append((part, staged, visible))
        at_once(lambda one: self._show(*one), shown)
        # Tasks of a newer claim may still write; the process of that claim deletes their files.
        claims = {name: _claim_of(name) for name in waiting - kept}
        dropped = [
            name for name, claim in claims.items() if claim is not None and claim <= self.claim
        ]
        at_once(self.store.delete, dropped)

    def _show(self, part: Part, staged: str, visible: str) -> None:
        """Make a part visible, unless another process does so and has deleted the staged part."""
        try:
            content = verified(part, self.store, staged)
        except FileNotFoundError:
            return
        self.store.put(visible, content)

    def _staged(self, claim: int, name: str, part: Part) -> str:
        return f"{_epoch(name)}/{claim:08d}/{part.place}/{part.staged_name}"

    def _unwritable(self, name: str, error: OSError) -> RunError:
        path = self.store.path(name)
        return RunError(
            f"{path} cannot be written ({error}): free some space, or choose another directory"
        )


def epoch_name(epoch: int) -> str:
    """Return the name of an epoch's commit and directories."""
    return f"epoch={epoch:08d}"


def number_of(name: str) -> int:
    """Return the number of an epoch, given its name."""
    return int(name.removeprefix("epoch="))


def _file(name: str) -> str:
    return f"{_COMMITS}/{name}.json"


def _epoch(name: str) -> str:
    """Return the folder of an epoch's staged parts, for all claims."""
    return f"{_PARTS}/{name}"


def _claim_of(staged: str) -> int | None:
    found = _STAGED.match(staged)
    return int(found[1]) if found else None


def _visible(commit: Commit, part: Part) -> str | None:
    """Return where plain readers find a part; None for parts of the run's own state."""
    if part.place.startswith(_STATE):
        return None
    name = epoch_name(0) if commit.name == BEFORE else commit.name
    return f"{part.place}/{name}/{part.name}"
