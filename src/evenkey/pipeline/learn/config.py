"""The configuration of a learner's run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import (
    FORMATS,
    SplitName,
    split_of,
)
from evenkey.pipeline.options import Configuration, KeyedOptions, option


def _names(value: object) -> object:
    """Split names separated by commas into a tuple of names."""
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return value
    if not all(isinstance(text, str) for text in texts):
        return value
    return tuple(each.strip() for text in texts for each in text.split(","))


class LearningOptions(Configuration):
    """Options for the columns of labelled records; a base class of configurations."""

    label: str | None = option(
        "Application",
        None,
        "Column of a record's class, for learners.",
        min_length=1,
        metavar="COLUMN",
    )
    text: str | None = option(
        "Application",
        None,
        "Column of a record's text, for naive-bayes.",
        min_length=1,
        metavar="COLUMN",
    )
    features: Annotated[tuple[str, ...], BeforeValidator(_names)] = option(
        "Application",
        (),
        "Columns of a record's numbers, for decision-tree, separated by commas; default: all.",
        metavar="COLUMNS",
    )


class LearnConfig(KeyedOptions, LearningOptions):
    """The configuration of a learner's run over labelled records; immutable.

    Examples
    --------
    >>> LearnConfig(dataset="clusters", workers=4).resolved_grouping().name
    'dkg'

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = file.write_text("kind,width")
    >>> config = LearnConfig(input=(str(file),), label="kind")
    >>> str(config.resolved_split())
    'csv'
    >>> config.check_paths()  # the file exists and has columns
    """

    def __init__(self, /, **options: Any) -> None:
        # Type checkers would otherwise require exactly the fields' types.
        super().__init__(**options)

    def resolved_split(self) -> SplitName:
        """Return the split of the input, which must be a format with columns.

        Raises
        ------
        ConfigurationError
            The format has no columns, or the files have several formats.
        """
        split = self.split or split_of(self.input)
        if split not in FORMATS.with_columns:
            message = (
                f"split = {split!r}: labelled records have columns; pass an input that is "
                f"{', '.join(FORMATS.with_columns)}"
            )
            raise ConfigurationError(message)
        return split

    def check_paths(self) -> None:
        """Check that files of records exist and have columns."""
        super().check_paths()
        if self.input:
            self.resolved_split()

    def check(self) -> None:
        """Check that there is either a dataset or an input."""
        if (self.dataset is None) == (not self.input):
            message = (
                "dataset and input are both given: leave out one"
                if self.input
                else "there is no input: pass dataset or input"
            )
            raise ConfigurationError(message)
        super().check()
