"""Names of the columns that evenkey adds to the rows and the states of keys."""

from __future__ import annotations

from typing import Final

HASH: Final = "__evenkey_hash"
"""Int64: hash of the key."""
PARTITION: Final = "__evenkey_partition"
"""Int32: state partition of the key in the epoch."""
SLOT: Final = "__evenkey_slot"
"""Int32: slot of the partition in the epoch."""
CONTENT: Final = "__evenkey_content"
"""Int64: hash of the contents of a row."""
TIME: Final = "__evenkey_time"
"""Int64: event time of a row in microseconds; null if it is not known."""
COUNT: Final = "__evenkey_count"
"""Int64: number of rows in a partial state; null in a row of the stream."""
SECONDS: Final = "__evenkey_seconds"
"""Double: seconds of work on the rows of a partial state; null in a row of the stream."""
PART: Final = "__evenkey_part_"
"""Beginning of the names of the columns of a partial state."""
SEEN: Final = "__evenkey_seen"
"""Int64: time of the clock, in microseconds, at which a state was last written."""

ADDED = (HASH, PARTITION, SLOT, CONTENT, TIME, COUNT, SECONDS)
"""The columns that are added to rows."""
