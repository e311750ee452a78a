"""Options for input that can be read again: generated streams and files, and their epochs."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from evenkey.core.streams import (
    FORMATS,
    SPAN_SECONDS,
    SplitName,
    check_input,
)
from evenkey.pipeline.options.base import Configuration
from evenkey.pipeline.options.option_fields import MOST, AnyPath, option, paths

_LARGEST_BLOCK = 256
_BLOCKS_A_SOURCE = 4


class InputOptions(Configuration):
    """Options for a generated stream or files; a base class of configurations."""

    dataset: str | None = option(
        "Input",
        None,
        "Generated stream to read; `evenkey dataset list` names them.",
        min_length=1,
        first=True,
        metavar="NAME",
    )
    input: Annotated[tuple[AnyPath, ...], BeforeValidator(paths)] = option(
        "Input",
        (),
        "Files to read: a file, a directory or a glob; may be given several times.",
        first=True,
    )
    split: SplitName | None = option(
        "Input",
        None,
        "Format of the input; default: by suffix: "
        f"{', '.join(FORMATS.by_suffix)}, else each line is a key.",
        metavar="FORMAT",
    )
    messages: int | None = option(
        "Input",
        None,
        "Messages of the dataset, or maximum lines or rows of the input.",
        ge=1,
        le=MOST,
    )
    seed: int = option("Input", 0, "Another seed gives another stream of the same dataset.")
    rate: float | None = option(
        "Input",
        None,
        "Messages per second of event time; default: a run spans 400 s.",
        gt=0,
        metavar="RATE",
    )
    arrival_rate: float | None = option(
        "Input",
        None,
        "Messages, lines or rows that arrive per second of real time; an epoch begins when its "
        "last message has arrived. By default the whole input is available at the start.",
        gt=0,
        metavar="RATE",
    )

    def event_rate(self, total: int) -> float:
        """Return the number of messages per second of event time in a run of `total` messages."""
        return total / SPAN_SECONDS if self.rate is None else self.rate

    def check_paths(self) -> None:
        """Check that the files exist.

        Raises
        ------
        ConfigurationError
            A file is missing, empty or unreadable.
        """
        if self.input:
            check_input(self.input)
        super().check_paths()


class EpochOptions(Configuration):
    """Options for the number or size of epochs; a base class of configurations."""

    epochs: int = option("Run", 8, "Number of micro-batches of the input.", ge=1, le=MOST)
    epoch_messages: int | None = option(
        "Run", None, "Messages, lines or rows per epoch, instead of epochs.", ge=1, le=MOST
    )

    def epoch_positions(self, total: int) -> int:
        """Return the number of positions in an epoch, given the total number of positions.

        A position is the number of a message, line or row in the input.
        """
        return self.epoch_messages or max(1, -(-total // self.epochs))

    def block_positions(self, total: int, sources: int) -> int:
        """Return the number of positions in a block; sources get whole blocks.

        Small epochs have small blocks, so that every source gets some positions of each epoch.
        """
        share = self.epoch_positions(total) // (_BLOCKS_A_SOURCE * sources)
        return min(_LARGEST_BLOCK, max(1, share))
