"""Find, check, hash and combine columns of keys, numbers and times."""

from __future__ import annotations

from evenkey.spark.keys.any_names import NamedTask, with_plain_names
from evenkey.spark.keys.char_lengths import differ_in_char
from evenkey.spark.keys.contents import hashed_parts
from evenkey.spark.keys.event_times import (
    FAR_AHEAD,
    Windows,
    far_ahead,
    latest_time,
    seconds_of,
    without_far_ahead,
)
from evenkey.spark.keys.given_columns import (
    absent,
    check_frame,
    column_names,
    find_columns,
    hash_of,
    key_columns,
    one_key,
    quoted,
    same_name,
    time_column,
    windowed_column,
)

__all__ = [
    "FAR_AHEAD",
    "NamedTask",
    "Windows",
    "absent",
    "check_frame",
    "column_names",
    "differ_in_char",
    "far_ahead",
    "find_columns",
    "hash_of",
    "hashed_parts",
    "key_columns",
    "latest_time",
    "one_key",
    "quoted",
    "same_name",
    "seconds_of",
    "time_column",
    "windowed_column",
    "with_plain_names",
    "without_far_ahead",
]
