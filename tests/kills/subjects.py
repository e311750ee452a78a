"""The subjects of kills: a command or a program, its input, and the check of its results."""

from __future__ import annotations

import random
import sys
from abc import ABC, abstractmethod
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.dataset as ds

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe.places import draw_subscriptions, read_atlas
from evenkey.pipeline.runs import read_results
from tests.kills.counting import difference, expected, found
from tests.kills.inputs import write_lines, write_parts
from tests.kills.shapes import all_pairs, write_places, write_publications

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from tests.kills.schedule import Run

__all__ = ["Subject", "subject_of"]

_EPOCHS = 10
_EPOCH_SECONDS = 2.0
_WORKERS = 4
_THE_SAME = 0.5
_KNOWN_KEYS, _REGIONS = 90, 7
"""Number of keys on the static side of a join by key (some are missing), and of regions."""

Compared = tuple[str, "Counter[Any]", "Counter[Any]"]
"""A name, the expected rows, and the actual rows."""


class Subject(ABC):
    """A run that can be started repeatedly in its own directory."""

    guarded: ClassVar[bool] = True
    """Whether a second process on the same output must be rejected."""
    closes: ClassVar[bool] = False
    """Whether it closes windows when its input has ended."""

    def __init__(self, run: Run, directory: Path) -> None:
        self.run = run
        self.directory = directory
        self.output = directory / "out"
        self.seed = f"{run.seed} {run.number}"

    @abstractmethod
    def prepare(self) -> None:
        """Write the input."""

    @abstractmethod
    def command(self, *, slow: bool) -> list[str]:
        """Return the command; with `slow`, its epochs take some seconds of simulated work."""

    @abstractmethod
    def compared(self) -> Iterator[Compared]:
        """Yield the actual and the expected rows at the end."""

    @property
    def figures(self) -> dict[str, Any]:
        """Return the expected figures of the report at the end."""
        return {}

    def surplus(self) -> list[str]:
        """Return unexpected rows; a killed run may lack rows."""
        try:
            return [
                line
                for what, wanted, got in self.compared()
                for line in difference(what, got & wanted, got)
            ]
        except Exception as error:  # noqa: BLE001 - any error means that such rows cannot be read
            return [f"after a kill, results cannot be read: {error!r}"]

    def differences(self, report: Mapping[str, Any] | None) -> list[str]:
        """Compare the results at the end with an independent count.

        Parameters
        ----------
        report
            The JSON that the last process printed, if any.

        Returns
        -------
        list
            A sentence for each difference.
        """
        try:
            said = [line for each in self.compared() for line in difference(*each)]
        except Exception as error:  # noqa: BLE001 - any error means that results are not exact
            said = [f"results cannot be read: {error!r}"]
        if report is None:
            return [*said, "the last process printed no report"] if self.figures else said
        return said + [
            f"the report says {name} = {report[name]!r}, and it is {value!r}"
            for name, value in self.figures.items()
            if name in report and report[name] != value
        ]


def subject_of(run: Run, directory: Path) -> Subject:
    """Create the subject of a run, in an empty directory."""
    if run.subject == "pipeline":
        return _Pipeline(run, directory)
    if run.subject == "join":
        return _Join(run, directory)
    return _OwnStream(run, directory)


class _Pipeline(Subject):
    closes = True

    def prepare(self) -> None:
        self.input = write_lines(self.directory / self.run.form, self.seed)
        self.layouts = random.Random(f"{self.seed} layouts")  # noqa: S311 - chance, not secrets

    def command(self, *, slow: bool) -> list[str]:
        grouping, workers, sources = self._layout()
        cost = 1000 * _EPOCHS * _EPOCH_SECONDS * workers / len(self.input.messages)
        words = [
            *(sys.executable, "-m", "evenkey", "run", "--json", "--output", str(self.output)),
            *("--input", str(self.directory / self.run.form), "--rate", str(self.input.rate)),
            *("--grouping", grouping, "--aggregator", self._aggregator),
            *("--workers", str(workers), "--sources", str(sources), "--aggregators", "2"),
            *("--epochs", str(_EPOCHS), "--cost-ms", f"{cost if slow else 0:.3f}"),
        ]
        if self.run.form.startswith("words"):
            words += ["--split", "words"]
        if self.run.form.startswith("records"):
            words += ["--key", "user", "--count", "n"]
        return words

    def _layout(self) -> tuple[str, int, int]:
        """Draw grouping, workers and sources: half of the processes continue with other values."""
        if "heavy-hitters" in self._aggregator or self.layouts.random() < _THE_SAME:
            return self.run.grouping, _WORKERS, 3
        grouping = self.layouts.choice([self.run.grouping, "planned", "dkg", "sg"])
        return grouping, self.layouts.choice([2, 4, 7]), self.layouts.choice([1, 3, 5])

    @property
    def _aggregator(self) -> str:
        return self.run.aggregator.format("count")

    def compared(self) -> Iterator[Compared]:
        name = self._aggregator.partition("(")[0]
        wanted = expected(name, self.input.messages)
        key = "user" if self.run.form.startswith("records") else "key"
        for how, rows in _readings(self.output):
            yield f"results, {how}", wanted, found(name, rows, key)
        dead_letters = _rows(self.output / "dead-letters")
        got = Counter((row["position"], row["line"]) for row in dead_letters)
        yield "dead letters", Counter(self.input.rejected), got

    @property
    def figures(self) -> dict[str, Any]:
        return {
            "finished": True,
            "lines": self.input.lines,
            "rejected": len(self.input.rejected),
            "messages": len(self.input.messages),
            "late": 0,
        }


class _OwnStream(Subject):
    guarded = False

    def prepare(self) -> None:
        drawn = random.Random(self.seed)  # noqa: S311 - chance, not secrets
        # A user's own program may retry tasks, or fail with the first failed task.
        self.master = drawn.choice(["local[3]", "local[3,4]"])
        compressed = drawn.random() < 0.5
        self.messages = write_parts(self.directory / "in", self.seed, compressed=compressed)
        static = [
            f'{{"user": "key {number}", "region": {number % _REGIONS}}}'
            for number in range(_KNOWN_KEYS)
        ]
        (self.directory / "static.json").write_text("\n".join(static))

    def command(self, *, slow: bool) -> list[str]:
        return [
            *(sys.executable, "-m", "tests.kills.own_streams", str(self.directory)),
            *(self.run.subject, "--master", self.master, "--mode", self.run.mode),
            *("--grouping", self.run.grouping, "--aggregator", self._aggregator),
            *("--cost", str(_EPOCH_SECONDS if slow else 0)),
        ]

    @property
    def _aggregator(self) -> str:
        return self.run.aggregator.format("amount")

    def compared(self) -> Iterator[Compared]:
        rows = _rows(self.output / "rows")
        if self.run.subject == "aggregate":
            name = self._aggregator.partition("(")[0]
            yield "results", expected(name, self.messages), found(name, rows, self._key(name))
            return
        # The last row, which closes windows, is routed and joined like any other.
        keys = [*(message.key for message in self.messages), "end"]
        wanted: Counter[Any]
        if self.run.subject == "route":
            wanted = Counter((row, key, True) for row, key in enumerate(keys))
            got = Counter(
                (row["row"], row["user"], row["worker"] == row["partition"]) for row in rows
            )
        else:
            wanted = Counter((row, key, self._region(key)) for row, key in enumerate(keys))
            got = Counter((row["row"], row["user"], row["region"]) for row in rows)
        yield "rows", wanted, got

    def _key(self, aggregator: str) -> str:
        return "key" if aggregator in {"top-k", "heavy-hitters"} else "user"

    def _region(self, key: str | None) -> int | None:
        number = (key or "").removeprefix("key ")
        known = number.isdecimal() and int(number) < _KNOWN_KEYS
        return int(number) % _REGIONS if known else None


class _Join(Subject):
    _EPOCHS = 40
    """Many epochs, because there is no simulated cost to make them long."""
    _PUBLICATIONS = 50
    """Publications per epoch, which is one file."""
    _SUBSCRIPTIONS = 300

    def prepare(self) -> None:
        self.places = self.directory / "places.geojson"
        write_places(self.places)
        self.publications = write_publications(
            self.directory / "in", self.seed, self._EPOCHS, self._PUBLICATIONS
        )

    def command(self, *, slow: bool) -> list[str]:
        del slow
        return [
            *(sys.executable, "-m", "evenkey", "join", "run", "--json"),
            *("--input", str(self.directory / "in"), "--polygons", str(self.places)),
            *("--subscriptions", str(self._SUBSCRIPTIONS), "--seed", str(self.run.seed)),
            *("--pipeline", self.run.pipeline, "--mode", self.run.mode),
            *("--workers", "3", "--epochs", str(self._EPOCHS), "--output", str(self.output)),
            *(["--force-redistribution", "12"] if self.run.mode.startswith("dynamic") else []),
        ]

    @cached_property
    def _wanted(self) -> tuple[Counter[Any], list[int]]:
        # The publications are input: evenkey draws them in this process, which is never killed.
        drawn = draw_subscriptions(read_atlas(self.places), self._SUBSCRIPTIONS, self.run.seed)
        return all_pairs(self.publications, drawn)

    def compared(self) -> Iterator[Compared]:
        pairs, bad = self._wanted
        for how, rows in _readings(self.output):
            got = Counter(
                (row["publication"], subscription)
                for row in rows
                for subscription in row["subscriptions"]
            )
            yield f"pairs, {how}", pairs, got
        got = Counter(row["publication"] for row in _rows(self.output / "dead-letters"))
        yield "dead letters", Counter(bad), got

    @property
    def figures(self) -> dict[str, Any]:
        pairs, bad = self._wanted
        return {
            "finished": True,
            "epochs": self._EPOCHS,
            "publications": self.publications.num_rows,
            "matches": len(pairs),
            "rejected": len(bad),
        }


def _readings(output: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Read a run's results as any Parquet reader, and with evenkey's own reader."""
    yield "read plainly", _rows(output / "results")
    try:
        yield "by read_results", read_results(output).to_pylist()
    except ConfigurationError:
        # It was killed before the run began.
        yield "by read_results", []


def _rows(directory: Path) -> list[dict[str, Any]]:
    """Read all rows as any Parquet reader does."""
    if not directory.exists():
        return []
    table: pa.Table = ds.dataset(directory, format="parquet", partitioning="hive").to_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
