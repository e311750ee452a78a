"""The criteria can fail: wrong results turn verdicts from holds to does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.claims import Row, Shown, all_claims, register
from tools.reproduction.records import records, tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenkey.papers.claims import Finding

    Side = Mapping[str, str]
    Wrong = Callable[[Sequence[Row], Side, Side | None], list[Row]]

OUTCOMES = tables_of(records())
SHARE = 0.95


def holding(kind: str) -> Iterator[Finding]:
    """Yield the findings of a kind that hold."""
    for claims in register().values():
        for claim in claims:
            for finding in claim.judged(OUTCOMES):
                if finding.holds and finding.criterion.kind == kind:
                    yield finding


def within(row: Row, side: Side) -> bool:
    return all(row.keys.get(key) == text for key, text in side.items())


def exchanged(rows: Sequence[Row], one: Side, two: Side | None) -> list[Row]:
    """Exchange the results of two sides, in all settings."""
    assert two is not None
    found = {tuple(sorted(row.keys.items())): row.shown for row in rows}

    def other(row: Row) -> Shown:
        for mine, theirs in ((one, two), (two, one)):
            if within(row, mine):
                return found.get(tuple(sorted({**row.keys, **theirs}.items())), row.shown)
        return row.shown

    return [Row(row.keys, other(row)) for row in rows]


def scaled(factor: float) -> Wrong:
    """Return a function that multiplies the results of the first side by a factor."""

    def wrong(rows: Sequence[Row], one: Side, two: Side | None) -> list[Row]:
        del two
        return [
            Row(row.keys, row.shown.over(Shown.one(1 / factor)) if within(row, one) else row.shown)
            for row in rows
        ]

    return wrong


def not_turned(finding: Finding, wrong: Wrong) -> list[str]:
    """Return the pairs of a claim that can be wrong without a change of the verdict.

    A value of 0 is one of them: multiplied by a factor, it stays as it is.
    """
    criterion = finding.criterion
    rows = criterion.measure.rows(OUTCOMES[criterion.measure.experiment])
    kept = []
    for one, two in criterion.pairs:
        changed = wrong(rows, one, two)
        if criterion.judge_rows(changed).verdict == "holds":
            kept.append(f"{finding.claim.id}: {dict(one)}, {two and dict(two)}")
    return kept


def test_exchanged_methods_turn_directions():
    findings = [*holding("direction")]
    kept = [pairs for finding in findings if (pairs := not_turned(finding, exchanged))]
    assert len(findings) > 100
    assert len(kept) <= (1 - SHARE) * len(findings), kept


def test_values_that_are_wrong_by_half_turn_sizes():
    findings = [*holding("size")]
    kept = [
        pairs
        for finding in findings
        for factor in (1.5, 1 / 1.5)
        if (pairs := not_turned(finding, scaled(factor)))
    ]
    assert len(findings) > 50
    assert len(kept) <= (1 - SHARE) * 2 * len(findings), kept


def test_claims_that_cannot_fail_hold():
    built = [each for each in all_claims() if each.by_construction]
    assert built
    assert [each.id for each in built if each.verdict(OUTCOMES) != "holds"] == []
