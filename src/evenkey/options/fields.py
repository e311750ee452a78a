"""How options of a pipeline are declared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

__all__ = ["MOST", "MOST_TASKS", "AnyPath", "Master", "option"]

MOST = 2**63 - 1
"""The highest number of a message."""
MOST_TASKS = 2**31 - 1
"""The highest number of a task of Spark's."""

_MASTER = re.compile(
    r"local(\[([1-9]\d*|\*)(,[1-9]\d*)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|"
    r"(?!https?:)[a-z][a-z0-9+.-]*://\S+"
)


def option(
    panel: str, default: Any, description: str, *, metavar: str = "", **constraints: Any
) -> Any:
    """Declare an option: its panel in the help, its default, its help text, its limits.

    The help names its value by `metavar`, or else by its type.
    """
    extra: dict[str, Any] = {"panel": panel, "metavar": metavar}
    return Field(default, description=description, json_schema_extra=extra, **constraints)


def _path(value: object) -> object:
    if value == "":
        message = "must not be empty"
        raise ValueError(message)
    return Path(value).expanduser() if isinstance(value, str) else value


def _master(value: str) -> str:
    if not value:
        message = "must not be empty"
        raise ValueError(message)
    # What other schemes there are is Spark's to say: cluster managers can be plugged in.
    if not _MASTER.fullmatch(value):
        message = (
            "must be local, local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or "
            "k8s://HOST:PORT"
        )
        raise ValueError(message)
    return value


Master = Annotated[str, AfterValidator(_master)]
"""A master of Spark."""

AnyPath = Annotated[Path, BeforeValidator(_path)]
"""A path, where ``~`` stands for the user's home."""
