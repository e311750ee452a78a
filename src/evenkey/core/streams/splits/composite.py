"""Convert a composite key to one text, which is routed, counted and shown like any other key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

_ESCAPED = r"[\x00-\x1f]"


def compose(parts: Sequence[pa.StringArray], *, empty_is_null: bool = False) -> pa.StringArray:
    """Write keys of several parts as JSON lists of texts and nulls; return other keys unchanged.

    Parameters
    ----------
    parts
        A string[n] for each column of the key.
    empty_is_null
        Whether an empty part of a composite key is null, as in CSV.

    Returns
    -------
    string[n]

    Examples
    --------
    >>> compose([pa.array(["EU", None, ""]), pa.array(["a", "b", ""])]).to_pylist()
    ['["EU","a"]', '[null,"b"]', '["",""]']
    """
    if len(parts) == 1:
        return parts[0]
    spelled = [_spelled(_without_empty(part) if empty_is_null else part) for part in parts]
    texts = pc.binary_join_element_wise(*spelled, ",")
    return pc.binary_join_element_wise("[", texts, "]", "")


def _without_empty(part: pa.StringArray) -> pa.StringArray:
    return pc.if_else(pc.equal(part, ""), pa.scalar(None, pa.string()), part)


def _spelled(part: pa.StringArray) -> pa.StringArray:
    """Write texts as JSON strings, with ``null`` for missing texts."""
    if pc.any(pc.match_substring_regex(part, _ESCAPED)).as_py():
        return pa.array([json.dumps(each, ensure_ascii=False) for each in part.to_pylist()])
    escaped = pc.replace_substring(pc.replace_substring(part, "\\", "\\\\"), '"', '\\"')
    return pc.fill_null(pc.binary_join_element_wise('"', escaped, '"', ""), "null")
