"""Profiles: hot keys and task times of a job's operations, recorded while the job runs."""

from evenkey.core.profiles.operations import (
    HALF_LIFE_DAYS,
    MARK,
    HotKey,
    Operation,
    SampledRows,
    TaskFigures,
)
from evenkey.core.profiles.profile_file import (
    Profile,
    check_writable,
    read_profile,
    update_profile,
    write_profile,
)

__all__ = [
    "HALF_LIFE_DAYS",
    "MARK",
    "HotKey",
    "Operation",
    "Profile",
    "SampledRows",
    "TaskFigures",
    "check_writable",
    "read_profile",
    "update_profile",
    "write_profile",
]
