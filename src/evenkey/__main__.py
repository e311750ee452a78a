"""``python -m evenkey`` runs the program ``evenkey``."""

from __future__ import annotations

import sys

from evenkey.core.errors import ConfigurationError, of_file_handles
from evenkey.core.extras import named_extra


def main() -> None:
    """Run the program with the arguments of the process."""
    try:
        from evenkey.cli import main as program
    except (ConfigurationError, ModuleNotFoundError) as error:
        sys.exit(_missing(error))
    except (ImportError, OSError) as error:
        handles = of_file_handles(error)
        if handles is None:
            raise
        sys.stderr.write(f"error: {handles}\n")
        sys.exit(1)
    program()


def _missing(error: ConfigurationError | ModuleNotFoundError) -> int:
    """Print which package is missing, without the CLI, which may not load; return the exit code."""
    named: Exception = error
    if isinstance(error, ModuleNotFoundError):
        named = named_extra(error, "the program evenkey")
        if named is error:
            raise error
    sys.stderr.write(f"error: {named}\n")
    return 2


if __name__ == "__main__":
    main()
