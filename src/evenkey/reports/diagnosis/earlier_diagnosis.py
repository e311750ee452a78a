"""Compare a diagnosis with an earlier one: which stages are new, got worse, or were fixed."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from evenkey.core.errors import ConfigurationError
from evenkey.core.stable_names import stable
from evenkey.reports.diagnosis.findings import stage_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from evenkey.reports.diagnosis.findings import Diagnosed, Finding

_WORSE = 1.2
"""A stage got worse if the possible saving grew by at least this factor."""

_TO_CHANGE, _SURE = ("change", "unsure"), ("change",)
_LINE_NUMBER = re.compile(r":\d+$")

_Key = tuple[object, ...]
_Run = TypeVar("_Run")


class _Earlier(NamedTuple):
    """The verdict on a stage in the earlier diagnosis, and what a change would have saved."""

    verdict: str
    saved: float


class Later(NamedTuple):
    """A stage to change, and what its change would have saved in the earlier diagnosis.

    Parameters
    ----------
    finding
        The stage, in the later diagnosis.
    before
        Seconds that a change would have saved earlier; None: it was not a stage to change. If its
        verdict now is ``unsure``, an earlier ``unsure`` counts too.
    """

    finding: Finding
    before: float | None

    @property
    def text(self) -> str:
        """The stage, and what a change would save now and before, in a line."""
        what = f"{self.finding.application.name}: {stage_title(self.finding)}"
        now = f"a change would save {self.finding.saved:,.1f} s"
        return f"{what}: {now}" + ("" if self.before is None else f", {self.before:,.1f} s before")


@dataclass(frozen=True)
class Comparison:
    """Stages to change, compared with those of an earlier diagnosis.

    A stage is the same if its application's name, its operator, its keys and the file of its call
    site are the same. Dates, numbers of six and more digits, and temporary names in them are
    ignored. Of several applications with one name, the one that started last counts, in each
    diagnosis.

    Parameters
    ----------
    new
        Stages that were not to be changed earlier; also those whose verdict was ``unsure`` and now
        is ``change``.
    worse
        Stages whose possible saving grew by a factor of at least 1.2, and by at least
        `Thresholds.least_seconds`.
    fixed
        Stages that were to be changed earlier, and are not any more; each as a line of text.
    """

    new: tuple[Later, ...]
    worse: tuple[Later, ...]
    fixed: tuple[str, ...]

    def above(self, gain: float) -> tuple[Finding, ...]:
        """Return the stages that are new or worse, and whose predicted speedup exceeds `gain`.

        As in `Diagnosis.above`, only changes of at least medium confidence count.
        """
        later = (each.finding for each in (*self.new, *self.worse))
        return tuple(each for each in later if each.verdict == "change" and each.sure_gain > gain)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can represent."""
        return {
            "new": [each.text for each in self.new],
            "worse": [each.text for each in self.worse],
            "fixed": list(self.fixed),
        }


def read_earlier(file: Path) -> dict[str, Any]:
    """Read an earlier diagnosis, as ``evenkey diagnose --format json`` prints it.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or is no diagnosis.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        message = f"{file}: it cannot be read as an earlier diagnosis ({_reason(error)}); {_FIX}"
        raise ConfigurationError(message) from None
    if not isinstance(found, dict) or "applications" not in found:
        message = f"{file}: it is no diagnosis; {_FIX}"
        raise ConfigurationError(message)
    return found


_FIX = "pass a file written with: evenkey diagnose LOGS --format json > FILE"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it is not JSON"


def compared(
    applications: Iterable[Diagnosed], earlier: Mapping[str, Any], least_seconds: float
) -> Comparison:
    """Compare applications with an earlier diagnosis.

    Parameters
    ----------
    applications
        All applications of the later diagnosis.
    earlier
        The earlier diagnosis, as `Diagnosis.to_json` returns it.
    least_seconds
        By how many seconds a stage's possible saving must have grown to be worse.

    Raises
    ------
    ConfigurationError
        `earlier` is no diagnosis of this version of evenkey.
    """
    try:
        saved = dict(_saved_earlier(earlier))
    except (LookupError, TypeError, ValueError, AttributeError):
        message = f"the earlier diagnosis lacks figures of this version of evenkey; {_FIX}"
        raise ConfigurationError(message) from None
    last = _last_runs(
        (each.application.name, each.application.started, each) for each in applications
    )
    found = {
        key: Later(each, _before(each, saved.get(key)))
        for one in last.values()
        for key, each in zip(_numbered(map(_key, one.findings)), one.findings, strict=True)
        if each.verdict in _TO_CHANGE
    }
    return Comparison(
        tuple(each for each in found.values() if each.before is None),
        tuple(each for each in found.values() if _is_worse(each, least_seconds)),
        # The stages of an application that did not run again are not fixed.
        tuple(_line(key) for key in saved if key not in found and key[0] in last),
    )


def _before(finding: Finding, earlier: _Earlier | None) -> float | None:
    """Return what a change would have saved earlier; None: the stage is new."""
    known = _SURE if finding.verdict in _SURE else _TO_CHANGE
    return earlier.saved if earlier is not None and earlier.verdict in known else None


def _is_worse(later: Later, least_seconds: float) -> bool:
    if later.before is None:
        return False
    now = later.finding.saved
    return now >= _WORSE * later.before and now - later.before >= least_seconds


def _last_runs(applications: Iterable[tuple[str, float, _Run]]) -> dict[object, _Run]:
    """Return the application that started last of each name, given names and times of starts.

    Of two that started at the same time, it is the one that comes later.
    """
    in_order = sorted(applications, key=lambda each: each[1])
    return {stable(name): each for name, _, each in in_order}


def _saved_earlier(earlier: Mapping[str, Any]) -> Iterator[tuple[_Key, _Earlier]]:
    """Yield the stages to change or to try of an earlier diagnosis."""
    last = _last_runs(
        (str(each["name"]), float(each["started"]), each) for each in earlier["applications"]
    )
    for application in last.values():
        findings = application["findings"]
        keys = _numbered(
            (
                stable(str(application["name"])),
                str(each["operator"]),
                tuple(stable(str(key)) for key in each["keys"]),
                _file(str(each["call_site"] or "")),
            )
            for each in findings
        )
        for key, each in zip(keys, findings, strict=True):
            if each["verdict"] in _TO_CHANGE:
                yield key, _Earlier(each["verdict"], float(each["saved_seconds"]))


def _key(finding: Finding) -> _Key:
    run = finding.run
    keys = tuple(map(stable, finding.keys))
    return (
        stable(finding.application.name),
        run.read.operator,
        keys,
        _file(run.execution.call_site),
    )


def _numbered(keys: Iterable[_Key]) -> Iterator[_Key]:
    """Add to each key the number of equal keys before it."""
    seen: Counter[_Key] = Counter()
    for key in keys:
        yield (*key, seen[key])
        seen[key] += 1


def _file(call_site: str) -> str:
    return stable(_LINE_NUMBER.sub("", call_site))


def _line(key: _Key) -> str:
    application, operator, keys, place, _ = key
    by = f" by {', '.join(keys)}" if isinstance(keys, tuple) and keys else ""
    return f"{application}: {operator}{by}" + (f", {place}" if place else "")
