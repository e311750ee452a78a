"""The chapter's pages, as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkey.papers.experiments import available
from tools.reproduction.records import VERDICTS, artefact, records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools.reproduction.records import Record

__all__ = ["chapter", "pages"]

_MANY_ROWS = 40

_HEAD = """\
# The papers' results, reproduced

This page lists every table and figure of the papers on key grouping and on joins, with the paper's
statements and our results. `make reproduction` writes it from the results of
`evenkey experiment run`; a test keeps it current. The [glossary](glossary.md) explains the terms.

- Each page has its command. Results that do not depend on a clock are the same on every machine.
  The **digest** is the SHA-256 of all results of the experiment; the command reproduces it.
- **Scale** full is the paper's number of messages, quick is shorter
  ([experiments.md](experiments.md)). Simulations are at scale full. Experiments on Spark sleep to
  simulate the cost per message on two cores, and the papers' sizes would take days: they are at
  scale quick, and their pages state the number of messages. Missing experiments are labelled.
- **Data**: the generated streams are look-alikes with the published messages, keys and top key;
  only Epinions, in PKG figure 8, and the postcode districts of the joins are real.
- **Verdicts**: a statement holds; holds nearly, if all but a few settings or all but a small part
  of the size agree; or does not hold. The reason stands beside it.

"""


def chapter() -> str:
    """Return the page that links to all others, with the verdicts of each table and figure."""
    found = {record.id: record for record in records()}
    lines = [_HEAD]
    count = Counter(each.verdict for record in found.values() for each in record.statements)
    experiments = available()
    artefacts = {artefact(each.reference) for each in experiments.values()}
    made = {record.artefact for record in found.values()}
    verdicts = ", ".join(
        f"{count[each]} {_ONE[each] if count[each] == 1 else _SEVERAL[each]}" for each in VERDICTS
    )
    lines += [
        (
            f"This page has **{len(made)} of {len(artefacts)}** tables and figures, in "
            f"{len(found)} of {len(experiments)} experiments. Of {count.total()} statements of the "
            f"papers {verdicts}."
        ),
        "",
        "| table or figure | what it shows | scale | holds | nearly | does not | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, experiment in experiments.items():
        if name in found:
            lines.append(_row(found[name]))
        else:
            lines.append(f"| {experiment.reference} | {experiment.title} | not yet | | | | |")
    return "\n".join(lines) + "\n"


_ONE = {"holds": "holds", "nearly": "holds nearly", "does not hold": "does not hold"}
_SEVERAL = {"holds": "hold", "nearly": "hold nearly", "does not hold": "do not hold"}


def pages() -> dict[str, str]:
    """Return all pages, by their paths below docs/."""
    found = {"reproduction.md": chapter()}
    for record in records():
        found[f"reproduction/{record.id}.md"] = _page(record)
    return found


def _row(record: Record) -> str:
    count = Counter(each.verdict for each in record.statements)
    why = " ".join(dict.fromkeys(each.why for each in record.statements if each.why))
    cells = [
        f"[{record.given['reference']}](reproduction/{record.id}.md)",
        record.given["title"],
        record.given["scale"],
        *(str(count[verdict] or "") for verdict in VERDICTS),
        why or ("beside the paper's figures" if not record.statements else ""),
    ]
    return f"| {' | '.join(map(_cell, cells))} |"


def _page(record: Record) -> str:
    given = record.given
    lines = [f"# {given['reference']}: {given['title']}", "", given["summary"], ""]
    for number, title in enumerate(given["plots"], 1):
        lines += [f"![{title}]({record.id}-{number}.png)", ""]
    if record.statements:
        lines += ["## The paper's statements and our results", ""]
        lines += _table(
            ["The paper", "Ours", "Verdict"],
            (
                (each.paper, each.ours, _verdict(each.verdict, each.why))
                for each in record.statements
            ),
        )
    for table in given["tables"]:
        lines += [f"## {table['title']}", ""]
        written = _table(table["columns"], table["cells"])
        if len(table["cells"]) > _MANY_ROWS:
            summary = f"<summary>{len(table['cells'])} rows</summary>"
            written = ['<details markdown="1">', summary, "", *written, "</details>", ""]
        lines += [*written, *([table["note"], ""] if table["note"] else [])]
    lines += ["## Command", "", "```sh", given["command"], "```", "", *_making(record)]
    return "\n".join(lines).rstrip() + "\n"


def _verdict(verdict: str, why: str) -> str:
    return f"**{verdict}**: {why}" if why else verdict


def _making(record: Record) -> Iterable[str]:
    given = record.given
    messages = f"{given['messages']:,} messages in {given['scenarios']} scenarios"
    yield f"- {messages}, scale {given['scale']}, seed {given['seed']}; commit `{given['commit']}`."
    if given["machines"]:
        repeats = " or ".join(map(str, given["repeats"]))
        runs = "one run each"
        if given["repeats"] != [1]:
            runs = f"medians of {repeats} runs, in brackets minimum and maximum"
        yield f"- Timed on {'; '.join(given['machines'])}: {runs}. Times differ on other machines."
    else:
        yield f"- Digest of the results: `{given['digest']}`."
    for reason in given["skipped"]:
        yield f"- Left out: {reason}"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(map(_cell, titles))} |", "|" + "---|" * len(titles)]
    return [*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows), ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
