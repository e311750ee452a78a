"""Where records of CSV end: at a line end that is in no quoted field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def record_ends(content: bytes, line_end: bytes, width: int, *, last: bool) -> NDArray[np.int64]:
    r"""Find the ends of records in a piece of a file that begins with one.

    A quoted field may hold line ends, up to 1,000 of them and 1 MiB. What is no record then costs
    no other: where a quote stays open for longer, where more than a comma or a line end follows
    the closing one, or where the number of fields is another than `width`, the record is its first
    line alone. A quote inside a field that does not begin with one opens none.

    Parameters
    ----------
    content
        The piece.
    line_end
        A line feed, or a carriage return.
    width
        How many fields a record has; 0: any number.
    last
        Whether the file ends with the piece; then so does its last record.

    Returns
    -------
    int64[n]
        Offsets behind the line ends of the records, as far as the piece tells.

    Examples
    --------
    >>> record_ends(b'a,"b\nc"\nd', b"\n", 2, last=True).tolist()
    [8, 9]
    >>> record_ends(b'a,"b\nc,d\ne', b"\n", 2, last=True).tolist()
    [5, 9, 10]
    """
    text = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(text == ord(line_end)) + 1
    if last and content and not content.endswith(line_end):
        ends = np.append(ends, len(content))
    if b'"' not in content:
        return ends
    from evenkey.core.streams._kernels import csv_records

    # There are at most as many records as lines, and one that is cut off.
    found = csv_records(text, ord(line_end), width, last, ends)
    return ends[:found]
