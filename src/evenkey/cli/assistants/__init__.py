"""``evenkey mcp``: offer diagnosis, advice and simulation to assistants in editors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from evenkey.cli.error_lines import explain, reported
from evenkey.core.addresses import without_password
from evenkey.core.extras import load_extra

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

__all__ = ["register"]

_INSTRUCTIONS = (
    "Find out whether skewed keys slow a Spark job down: diagnose reads its event log. advise "
    "measures the keys of files, simulate compares groupings, explain says what an operator of "
    "evenkey.spark would do. Offer Spark's own changes first, and state gain and confidence."
)


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("mcp")(reported(_mcp))


def _mcp() -> None:
    """Offer diagnose, advise, simulate and explain as tools of the Model Context Protocol.

    The server speaks over standard input and output; an editor starts it. Needs the extra `mcp`.
    """
    server_of_tools().run("stdio")


def server_of_tools() -> Any:
    """Return a server of the official SDK that has evenkey's tools.

    Raises
    ------
    ConfigurationError
        The package `mcp` is not installed.
    """
    kit = load_extra("mcp.server.mcpserver", "mcp", "evenkey mcp")
    failure = load_extra("mcp.server.mcpserver.exceptions", "mcp", "evenkey mcp").ToolError
    from evenkey.cli.assistants.assistant_tools import TOOLS

    server = kit.MCPServer("evenkey", instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool in TOOLS:
        server.tool()(_reporting(tool, failure))
    return server


def _reporting(tool: Callable[..., Any], failure: type[Exception]) -> Callable[..., Any]:
    """Return a tool whose errors an assistant reads in one line, as on the command line."""

    @functools.wraps(tool)
    def reporting(*arguments: Any, **options: Any) -> Any:
        try:
            return tool(*arguments, **options)
        except Exception as error:
            raise failure(without_password(explain(error).message)) from error

    return reporting
