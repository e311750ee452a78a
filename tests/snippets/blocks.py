"""The code blocks in README and docs: those that tests run, and why the others are not run."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LANGUAGES = ("python", "sh")

_MINUTES = "it takes minutes; what it gives stands beside it"
_BROKER = "it needs a broker; tests/kafka runs such commands on one"
_CLUSTER = "it needs a cluster, or an account; docs/platforms.md says what was tried"
_CHECKOUT = "it sets up or tests a whole checkout; CI does so"
_DATA = "it names files of the reader's; tests of the command run it on others"
_MOVE = "it continues a query of the reader's; tests/spark/test_rebalance.py moves others"
_PICTURES = "`make pictures` runs it; tests/site/test_gallery.py compares both"
_PAGE = "it serves a page until it is stopped; tests/dashboard runs the server"

NOT_RUN = {
    "README.md": {
        "make demo": "it takes a minute; tests/examples runs the program where there is time",
        "pip install": _CHECKOUT,
        "evenkey diagnose /srv": _DATA,
    },
    "CONTRIBUTING.md": {
        "make setup": _CHECKOUT,
        "make soak": _CHECKOUT,
        "make mutants": _MINUTES,
        "make compare": _MINUTES,
    },
    "docs/start.md": {"python3 -m venv": _CHECKOUT},
    "docs/advise.md": {"evenkey advise clicks.csv": _DATA},
    "docs/applications.md": {"evenkey run": _MINUTES, 'evenkey run --application "dec': _MINUTES},
    "docs/cost.md": {"": _MINUTES},
    "docs/measurements.md": {"": _MINUTES},
    "docs/datasets.md": {"for name": _MINUTES, "evenkey run --input soc": _DATA},
    "docs/diagnose.md": {"evenkey diagnose /srv": _DATA},
    "docs/experiments.md": {
        "pip install": _MINUTES,
        "make kafka-up": _BROKER,
        "evenkey experiment run simulated": _MINUTES,
    },
    "docs/gallery.md": {"": _PICTURES},
    "docs/guide.md": {
        "evenkey rebalance": _MOVE,
        'spark.conf.set("spark.sql.shuffle.partitions", "12")': _MOVE,
    },
    "docs/kafka.md": {"make setup-kafka": _BROKER},
    "docs/observability.md": {"pip install": _PAGE, "evenkey run": _DATA},
    "docs/operations.md": {
        "from evenkey import read_results": "it reads what a run of the reader's left; "
        "tests/runs/test_runner.py reads others",
    },
    "docs/platforms.md": {"": _CLUSTER},
    "docs/profiles.md": {"evenkey diagnose /srv": _DATA},
    "docs/unchanged-jobs.md": {
        "evenkey submit job.py": _DATA,
        "spark-submit": _CLUSTER,
    },
    "docs/publish-subscribe.md": {
        "evenkey join run --pipeline": _MINUTES,
        "evenkey join produce": _BROKER,
    },
    "docs/simulation.md": {
        "evenkey simulate --input": _DATA,
        "evenkey simulate --dataset wiki": _MINUTES,
        "evenkey simulate --dataset twitter": _MINUTES,
        "pytest": _MINUTES,
    },
    "docs/where-it-runs.md": {"": _CLUSTER},
    **{
        f"docs/reproduction/{page.name}": {"": _MINUTES}
        for page in sorted((ROOT / "docs" / "reproduction").glob("*.md"))
        if not page.name.startswith("claims-")
    },
}
"""Why no test runs a block, by its page and its first characters; "" means all blocks of a page.

The evenkey commands in these blocks are parsed nevertheless.
"""


class Block(NamedTuple):
    """A fenced block of code."""

    page: str
    language: str
    text: str

    @property
    def reason(self) -> str | None:
        """Why no test runs the block; None if one does."""
        listed = NOT_RUN.get(self.page, {})
        begins = [start for start in listed if self.text.startswith(start)]
        return listed[max(begins, key=len)] if begins else None


@functools.cache
def blocks() -> tuple[Block, ...]:
    """Return all blocks of Python and shell code in README and docs."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    return tuple(
        Block(page.relative_to(ROOT).as_posix(), language, text)
        for page in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]
        for language, text in re.findall(
            r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        if language in LANGUAGES
    )


def snippets(page: str, language: str) -> list[str]:
    """Return the blocks of a page that tests run, in order; the caller must run all of them."""
    return [
        each.text
        for each in blocks()
        if (each.page, each.language) == (page, language) and each.reason is None
    ]
