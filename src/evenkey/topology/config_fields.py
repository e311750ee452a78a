"""How options of a pipeline are declared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

__all__ = ["AnyPath", "option"]


def option(panel: str, default: Any, description: str, **constraints: Any) -> Any:
    """Declare an option: its panel in the help, its default, its help text, its limits."""
    return Field(
        default, description=description, json_schema_extra={"panel": panel}, **constraints
    )


def _path(value: object) -> object:
    if value == "":
        message = "must not be empty"
        raise ValueError(message)
    return Path(value).expanduser() if isinstance(value, str) else value


AnyPath = Annotated[Path, BeforeValidator(_path)]
"""A path, where ``~`` stands for the user's home."""
