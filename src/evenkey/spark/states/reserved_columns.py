"""Names of the columns that evenkey adds to the rows and the states of keys."""

from __future__ import annotations

from typing import Final

HASH: Final = "__evenkey_hash"
"""Int64: hash of the key."""
PARTITION: Final = "__evenkey_partition"
"""Int32: state partition of the key, which follows from its hash."""
SLOT: Final = "__evenkey_slot"
"""Int32: slot of the partition in the epoch."""
CONTENT: Final = "__evenkey_content"
"""Int64: hash of the contents of a row."""
TIME: Final = "__evenkey_time"
"""Int64: event time of a row in microseconds; null if it is not known."""
SEEN: Final = "__evenkey_seen"
"""Int64: time of the clock, in microseconds, at which a state was last written."""

ADDED = (HASH, PARTITION, SLOT, CONTENT, TIME)
"""The columns that are added to rows."""
