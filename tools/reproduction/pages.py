"""The chapter's pages on experiments, as Markdown."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from evenkey.papers.claims import Shown, all_claims
from evenkey.papers.experiments import available
from tools.reproduction.blocks import Source, block, verdict_of
from tools.reproduction.claim_pages import claim_pages, counts, definitions
from tools.reproduction.markdown import table
from tools.reproduction.records import (
    FOLDER,
    artefact,
    read_notes,
    read_shared,
    records,
    tables_of,
    whys,
)
from tools.reproduction.redrawn import KINDS, plots
from tools.reproduction.shown_cells import arranged, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkey.papers.claims import Finding
    from tools.reproduction.records import Record

__all__ = ["chapter", "pages"]

_MANY_ROWS = 40
_JUDGED = ("holds", "does not hold", "not run")
_COMMIT_DIGITS = 7

_HEAD = """\
# The papers' results, reproduced

This chapter lists every statement in numbers or in order of the three papers and of the README of
DKG's reference implementation, with its criterion and our result, and every table and figure of
the papers. Some claims that no table or figure shows have an experiment of their own, named by
their section. `make reproduction` writes the chapter from the register of claims and from the
results of `evenkey experiment run`; a test keeps it current. The [glossary](glossary.md) explains
the terms.

- **Verdicts** follow from the criteria alone: a program compares the figures that our tables show.
  The criteria are in `src/evenkey/papers/claims`. They were committed before results were judged by
  them, but **{changed} of {claims} claims were changed later**: their criterion, or the results by
  which they are judged. Each change stands beside its claim, with its date and reason. A claim that
  several measures test holds only if it holds for all of them. Beside each claim that does not hold
  stands the reason, as far as it is known, and beside each that is not run what our results show so
  far.
- **Not run** means that a figure is missing that the criterion needs: no experiment has it, or a
  run at scale quick lacks some of the settings. A claim that fails in a setting does not hold, even
  if other settings are missing. **Not testable** means that the statement is about something that
  nobody can measure here.
- Set-ups, definitions, statements about other systems and theorems of other papers are not claims.
  Those that resemble claims are listed with the reason at the end of each document's page.
- Some claims hold **by construction**: our results cannot fail them, such as the size of a stream
  that is generated with the published size. Their pages say so.
- Latency is the time of the same runs as throughput, in DKG by the paper's own formula. Claims on
  both are one measurement, which counts twice.
- Each page has its command. Results that do not depend on a clock are the same on every machine.
  The **digest** is the SHA-256 of all results of the experiment; the command reproduces it.
- **Scale** full is the paper's number of messages or, where the paper has no such stream, the
  number that the page states; quick and medium are shorter ([experiments.md](experiments.md)).
  Simulations are at scale full. Experiments on Spark sleep to simulate the cost per message on two
  cores, and the papers' sizes would take days: they are at scale quick or medium, and their pages
  state the number of messages.
- **Data**: the generated streams are look-alikes with the published messages, keys and top key.
  Two streams of Wikipedia have fewer messages, whose weights add up to the published number;
  real are only Epinions, in PKG figure 8 and section 6.2, and the British postcode districts from
  which the joins on Spark draw. Joins without Spark have the places of an invented country.
- **Joins on Spark**: a slot is an executor, and sleeps in proportion to the processor time of its
  matching, so that two cores carry 16 slots and the clock shows their balance
  ([268](decisions/268-slots-that-sleep.md)). Pages whose experiment has not run in
  this form yet say so.
- **Deployment of DKG's experiments**: 5 spouts, 10 splitters, which route, 10 aggregators, and
  streams that span the paper's time
  ([277](decisions/277-deployment-of-the-dkg-paper.md)). Pages whose experiment has not run in this
  form yet say so beside their commit.
- **Variants of PKG**: PKG's simulations use `pkg(variant=paper)`, whose candidates may be the same
  worker, as in the paper and in Storm 0.10. DKG's simulations and all runs on Spark use `pkg` with
  two distinct candidates, as in Storm 2; DKG section 4.4 compares both. Simulations hash with
  MurmurHash3, runs with XXH64.
- **Keys of the PKG paper's streams** have the symbol of their data set in their names in
  simulations, so that an unlucky hash of a frequent key shows on one stream only. It does on LN1:
  both choices of the most frequent key are one worker of 10, and those of the second key are one
  of 100 ([307](decisions/307-streams-of-the-pkg-paper-share-no-key.md)).

"""


def pages() -> dict[str, str]:
    """Return all pages, by their paths below docs/."""
    found = records()
    outcomes = tables_of(found)
    claims = all_claims()
    notes, shared = whys(read_notes(), claims, outcomes), read_shared()
    written = {"reproduction.md": _chapter(found), **claim_pages(outcomes, notes, shared)}
    for record in found:
        source = Source(record.id, outcomes, notes, shared)
        written[f"reproduction/{record.id}.md"] = _page(record, source)
    return written


def chapter() -> str:
    """Return the page that links to all others, with the verdicts by document and by figure."""
    return _chapter(records())


def _chapter(made: Sequence[Record]) -> str:
    found = {record.id: record for record in made}
    experiments = available()
    artefacts = {artefact(each.reference) for each in experiments.values()}
    reached = {record.artefact for record in made}
    claims = all_claims()
    changed = sum(bool(claim.changes) for claim in claims)
    head = _HEAD.format(changed=changed, claims=len(claims))
    lines = [head, "## Verdicts by document", "", *counts(tables_of(made))]
    lines += ["## Words of the criteria", "", *definitions()]
    lines += [
        "## Tables, figures and sections",
        "",
        (
            f"The chapter has **{len(reached)} of {len(artefacts)}** tables, figures and "
            f"sections, in {len(found)} of {len(experiments)} experiments. A claim counts once for "
            "each of its measures, by the result of that measure alone."
        ),
        "",
    ]
    titles = ["table, figure or section", "what it shows", "scale", *_JUDGED]
    rows = [
        _row(found[name])
        if name in found
        else [experiment.reference, experiment.title, "not yet", *[""] * len(_JUDGED)]
        for name, experiment in experiments.items()
    ]
    return "\n".join([*lines, *table(titles, rows)]).rstrip() + "\n"


def _row(record: Record) -> list[str]:
    count: Counter[str] = Counter(each.verdict for each in record.findings)
    return [
        f"[{record.given['reference']}](reproduction/{record.id}.md)",
        record.experiment.title,
        record.given["scale"],
        *([str(count[verdict] or "") for verdict in _JUDGED] if count else ["no claims", "", ""]),
    ]


def _page(record: Record, source: Source) -> str:
    given, experiment = record.given, record.experiment
    lines = [f"# {given['reference']}", "", f"**{experiment.title}.** {shown(record.summary)}", ""]
    lines += _form(record)
    if experiment.set_up:
        lines += table(experiment.set_up[0], experiment.set_up[1:])
    lines += [*_pictures(record), *_judged(record.findings, source)]
    for stored in given["tables"]:
        shapes = arranged(record.id, stored)
        for each in shapes:
            note = each["note"] if each is shapes[-1] else ""
            lines += [f"## {each['title']}", "", *_table(each), *([note, ""] if note else [])]
    lines += ["## Command", "", "```sh", given["command"], "```", "", *_making(record)]
    return "\n".join(lines).rstrip() + "\n"


def _form(record: Record) -> Iterable[str]:
    """Say whether the experiment has changed since it ran."""
    if record.changed:
        yield (
            "This is an **earlier form of the experiment**. It has changed since, and has not run "
            "again yet: see the notes on deployment and variants in the "
            "[chapter](../reproduction.md)."
        )
        yield ""


def _pictures(record: Record) -> Iterable[str]:
    """Show each plot below its title, on laptops and on phones, or as the run drew it."""
    drawn = plots(record)
    charts = record.experiment.charts
    for number, stored in enumerate(record.given["plots"]):
        name, title, note = f"{record.id}-{number + 1}", stored, ""
        if drawn:
            title, note = drawn[number].title, drawn[number].note
        elif len(charts) == len(record.given["plots"]):
            note = charts[number].note
        yield f"**{title}.** {note}".rstrip()
        yield ""
        if (FOLDER / f"{name}.png").exists():
            yield f"![{title}]({name}.png)"
        else:
            yield from (f"![{title}]({name}-{kind}.svg#{kind})" for kind in KINDS)
        yield ""


def _judged(findings: Sequence[Finding], source: Source) -> Iterable[str]:
    """Show the verdicts on claims; equal findings of a claim are shown once."""
    yield "## The paper's claims and our results"
    yield ""
    if not findings:
        yield "This experiment tests no claim; it explains results of others."
        yield ""
    # The claims of findings have the measures of this experiment only.
    whole = {claim.id: claim for claim in all_claims()}
    for name, group in itertools.groupby(findings, key=lambda each: each.claim.id):
        found = list({(each.criterion.says, each.ours): each for each in group}.values())
        yield from block(whole[name], found, verdict_of(found), source)


def _table(each: Mapping[str, Any]) -> list[str]:
    written = table(each["columns"], [[shown(cell) for cell in row] for row in each["cells"]])
    if len(each["cells"]) > _MANY_ROWS:
        summary = f"<summary>Show the table ({len(each['cells'])} rows)</summary>"
        written = ['<details markdown="1">', summary, "", *written, "</details>", ""]
    return written


def _making(record: Record) -> Iterable[str]:
    given = record.given
    scenarios = "1 scenario" if given["scenarios"] == 1 else f"{given['scenarios']} scenarios"
    commit = given["commit"][:_COMMIT_DIGITS]
    yield (
        f"- {given['messages']:,} messages in {scenarios}, scale {given['scale']}, seed "
        f"{given['seed']}; commit `{commit}`."
    )
    if given["machines"]:
        repeats = " or ".join(map(str, given["repeats"]))
        runs = "one run each"
        if given["repeats"] != [1]:
            cells = [cell for each in given["tables"] for row in each["cells"] for cell in row]
            listed = any(value.runs for value in map(Shown.read, cells) if value)
            brackets = "all runs, each on data of its own" if listed else "minimum and maximum"
            runs = f"medians of {repeats} runs; brackets have {brackets}"
        yield f"- Timed on {'; '.join(given['machines'])}: {runs}. Times differ on other machines."
    else:
        yield f"- Digest of the results: `{given['digest']}`."
    for reason in given["skipped"]:
        yield f"- Left out: {reason}"
