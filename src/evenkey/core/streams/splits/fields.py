"""Lines that are split into fields, the same number of fields in each line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BAD_COUNT = "is not a whole number of at least 1"
WHOLE = r"^\s*\+?[0-9]{1,18}\s*$"  # 18 digits always fit into 64 bits


class Fields:
    """The fields of some lines, column by column.

    Parameters
    ----------
    records
        list<string>[n], the fields of each line; null if the line could not be split.
    width
        Number of fields that a line must have.
    said
        Reason why a line with another number of fields is rejected; that number replaces `{}`.
    """

    def __init__(self, records: pa.ListArray, width: int, said: str) -> None:
        sizes = pc.list_value_length(records)
        right = pc.equal(sizes, width)
        before, behind = said.split("{}")
        wrong = pc.binary_join_element_wise(before, pc.cast(sizes, pa.string()), behind, "")
        self.fault: pa.StringArray = pc.if_else(right, pa.scalar(None, pa.string()), wrong)
        """string[n], why a line does not have `width` fields; null if it does, or if the line is
        null."""
        good = pc.fill_null(right, fill_value=False)
        self._flat = pc.list_flatten(records.filter(good))
        inside = good.to_numpy(zero_copy_only=False)
        self._spots = np.where(inside, (np.cumsum(inside) - 1) * width, -1)

    def column(self, place: int) -> pa.StringArray:
        """Return one field of each line, string[n]; null if a line does not have `width` fields."""
        spots = self._spots
        return self._flat.take(pa.array(spots + place, mask=spots < 0))


def read_counts(texts: pa.StringArray) -> tuple[pa.Int64Array, pa.StringArray]:
    """Read counts from texts; return the counts, and the reasons why texts are not valid counts."""
    none = pa.scalar(None, pa.string())
    whole = pc.if_else(pc.match_substring_regex(texts, WHOLE), texts, none)
    count = pc.cast(pc.utf8_ltrim(pc.utf8_trim_whitespace(whole), "+"), pa.int64())
    good = pc.fill_null(pc.greater_equal(count, 1), fill_value=False)
    shown = pc.utf8_slice_codeunits(texts, 0, 80)
    bad = pc.binary_join_element_wise("the count '", shown, f"' {BAD_COUNT}", "")
    return count, pc.if_else(good, none, bad)
