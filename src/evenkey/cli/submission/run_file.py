"""Run a Python file as the program of this process, as ``python FILE ARGS`` does."""

from __future__ import annotations

import runpy
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FAILED = 1


def run_program(file: Path, arguments: Sequence[str]) -> int:
    """Run a file as ``__main__``, and print the trace of its error as Python does.

    Parameters
    ----------
    file
        The program.
    arguments
        Its arguments, without its name.

    Returns
    -------
    int
        Exit code: 0, or 1 after an error. If the program exits, so does this process.
    """
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.resolve().parent))
    try:
        runpy.run_path(str(file), run_name="__main__")
    except Exception as error:  # noqa: BLE001 - any error of the user's program
        _print_trace(error, str(file))
        return _FAILED
    return 0


def _print_trace(error: Exception, file: str) -> None:
    """Print the trace from the program's own first line on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace or error.__traceback__)
