"""Word count: the number of occurrences of each word, by window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evenkey.applications.base import PipelineApplication
from evenkey.core.streams import Lines, Words, split_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.pipeline.aggregate import PipelineOptions


@dataclass(frozen=True)
class WordCount(PipelineApplication):
    """Counts words (``wordcount``), the application in section 6, Q5, of the PKG paper.

    The aggregator is `Count`. Lines of text are split into words; other input keeps its own keys.
    Counts are exact under every grouping.

    Examples
    --------
    >>> print(WordCount())
    wordcount
    """

    name: ClassVar[str] = "wordcount"
    summary: ClassVar[str] = "occurrences of each word, by window"

    def options(self, config: PipelineOptions) -> Mapping[str, Any]:
        """Return the aggregator, and for plain text also the splitter."""
        return {"aggregator": "count", **split_into_words(config)}


def split_into_words(config: PipelineOptions) -> dict[str, Any]:
    """Return the option that splits text into words; nothing if the input has another splitter."""
    if config.split is not None or config.dataset is not None:
        return {}
    text = config.kafka is not None or split_of(config.input) == Lines.name
    return {"split": Words.name} if text else {}
