"""Find the ends of CSV records: line ends that are not inside a quoted field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def record_ends(content: bytes, line_end: bytes, width: int, *, last: bool) -> NDArray[np.int64]:
    r"""Find the ends of CSV records in a piece of a file; the piece begins with a record.

    A quoted field may contain up to 1,000 line ends and up to 1 MiB. A record of several lines is
    invalid if a quote stays open for longer, if something other than a comma or a line end follows
    the closing quote, or if the number of fields is not `width`. Then only the first line of the
    record counts as a record, so that an invalid record does not affect other records. In a field
    that does not begin with a quote, a quote is an ordinary character.

    Parameters
    ----------
    content
        Bytes of the piece.
    line_end
        A line feed, or a carriage return.
    width
        Number of fields of a record; 0: any number.
    last
        Whether the file ends with the piece, so that the last record ends there too.

    Returns
    -------
    int64[n]
        Offset after the line end of each record, for all records whose end is certain.

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

    # `ends` is long enough for the result: there are at most as many records as lines.
    found = csv_records(text, ord(line_end), width, last, ends)
    return ends[:found]
