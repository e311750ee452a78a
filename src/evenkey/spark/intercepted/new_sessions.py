"""Call a function with each session that a program makes, until the context is closed."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def new_sessions(begin: Callable[[SparkSession], object]) -> Iterator[None]:
    """Call a function with each session that ``SparkSession.builder.getOrCreate`` returns first.

    Parameters
    ----------
    begin
        Takes the session, before the program gets it. What it raises, ``getOrCreate`` raises.
    """
    kind: Any = SparkSession.Builder
    original = vars(kind)["getOrCreate"]
    seen: list[SparkSession] = []

    @functools.wraps(original)
    def get_or_create(builder: Any) -> SparkSession:
        session: SparkSession = original(builder)
        if not any(session is each for each in seen):
            seen.append(session)
            begin(session)
        return session

    kind.getOrCreate = get_or_create
    try:
        yield
    finally:
        if vars(kind)["getOrCreate"] is get_or_create:
            kind.getOrCreate = original
