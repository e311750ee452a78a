"""Print an advice: the recommendation and its code, then what was measured and predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenkey.cli.output import Printer, number, print_plain, print_point, print_title, whole

if TYPE_CHECKING:
    from evenkey.reports.advice import Advice

_SHOWN_KEYS = 5
_LONGEST_KEY = 40


def print_advice(advice: Advice) -> None:
    """Print the recommendation and the code, then the skew and the predictions."""
    console = Printer()
    _print_recommendation(console, advice)
    skew, sample = advice.skew, advice.sample
    console.print()
    print_title(console, f"{sample.name}: {whole(skew.messages)} messages, {whole(skew.keys)} keys")
    print_plain(console, advice.caution or "All lines were read.")
    if sample.rejected:
        print_plain(console, f"{whole(sample.rejected)} of the lines read are not messages.")
    _print_skew(console, advice)
    _print_predictions(console, advice)


def _print_recommendation(console: Console, advice: Advice) -> None:
    chosen = advice.recommendation
    if chosen.grouping is None:
        print_title(console, "No grouping is needed")
    else:
        print_title(console, f"Use {chosen.grouping} on {chosen.workers} workers")
    print_plain(console, advice.headline)
    for reason in chosen.reasons:
        print_point(console, reason)
    console.print()
    print_plain(console, advice.code.rstrip(), wrapped=False)


def _print_skew(console: Console, advice: Advice) -> None:
    skew = advice.skew
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("hottest keys")
    table.add_column("messages", justify="right", no_wrap=True)
    table.add_column("share, %", justify="right", no_wrap=True)
    for key, messages, share in skew.top[:_SHOWN_KEYS]:
        text = "(null)" if key is None else key
        shown = text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}..."
        table.add_row(escape(shown), whole(messages), number(100 * share))
    console.print(table)
    if skew.zipf is not None:
        print_plain(
            console,
            f"Zipf's law fits best with z = {number(skew.zipf.exponent)}; it is off by at most "
            f"{number(100 * skew.zipf.distance, 1)} % of the messages.",
        )
    print_plain(
        console,
        f"With more than 1/p1 = {number(skew.most_workers(1), 1)} workers, the hottest key exceeds "
        f"the fair share of one worker; with more than 2/p1 = {number(skew.most_workers(2), 1)}, "
        "that of two workers.",
    )


def _print_predictions(console: Console, advice: Advice) -> None:
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("workers", justify="right")
    table.add_column("grouping", overflow="fold")
    for heading in ("max/mean", "DistCost", "throughput, sg = 1"):
        table.add_column(heading, justify="right", no_wrap=True)
    before = None
    for each in advice.predictions:
        if before not in (None, each.workers):
            table.add_section()
        table.add_row(
            whole(each.workers) if each.workers != before else "",
            escape(each.grouping),
            number(each.max_over_mean, 3),
            number(each.dist_cost),
            number(each.relative_throughput, 3),
        )
        before = each.workers
    console.print(table)
