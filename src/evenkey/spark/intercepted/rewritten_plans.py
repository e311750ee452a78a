"""Read the plan of a rerouted call as that of Spark's own method, so that fingerprints stay.

A later call may use the result of a rerouted one. Its analysed plan then contains evenkey's
operators, and in the recording it contained Spark's. So each rerouted result is remembered by the
text of its plan, with the text of Spark's own plan in place of it.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from evenkey.spark.intercepted.plan_lines import end_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.spark.intercepted.plan_lines import PlanLine

    Block: TypeAlias = tuple[tuple[int, str], ...]

_ID = re.compile(r"#\d+L?")
_MOST = 1_000
"""Maximum number of plans that are remembered; the oldest ones are forgotten."""
_lock = threading.Lock()
_originals: OrderedDict[Block, tuple[PlanLine, ...]] = OrderedDict()


def remember_original(made: Sequence[PlanLine], original: Sequence[PlanLine]) -> None:
    """Let `original_lines` read a plan as another one.

    Parameters
    ----------
    made
        Lines of the plan of a rerouted call.
    original
        Lines of the plan of Spark's own method.
    """
    known = tuple(original_lines(original))
    with _lock:
        _originals[_block(made)] = known
        _originals.move_to_end(_block(made))
        while len(_originals) > _MOST:
            _originals.popitem(last=False)


def original_lines(lines: Sequence[PlanLine]) -> list[PlanLine]:
    r"""Return a plan in which each rerouted call has the lines of Spark's own method.

    Examples
    --------
    >>> from evenkey.spark.intercepted.plan_lines import lines_of
    >>> remember_original(lines_of("Own [n#1]"), lines_of("Theirs [n#2]"))
    >>> [text for _, text in original_lines(lines_of("Filter (n#7 > 1)\n+- Own [n#7]"))]
    ['Filter (n#7 > 1)', 'Theirs [n#2]']
    """
    with _lock:
        originals = dict(_originals)
    if not originals:
        return list(lines)
    roots = {block[0][1] for block in originals}
    found: list[PlanLine] = []
    place = 0
    while place < len(lines):
        line, end = lines[place], place + 1
        known = None
        if _ID.sub("", line.text) in roots:
            end = end_of(lines, place)
            known = originals.get(_block(lines[place:end]))
        if known is None:
            found.append(line)
            place += 1
            continue
        found += [each._replace(column=each.column + line.column) for each in known]
        place = end
    return found


def _block(lines: Sequence[PlanLine]) -> Block:
    """Return the lines of a subtree without ids of columns, which differ in each analysis."""
    first = lines[0].column
    return tuple((each.column - first, _ID.sub("", each.text)) for each in lines)
