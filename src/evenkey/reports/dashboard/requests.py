"""Answer malformed requests with one line, never with a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash.exceptions import DashException
from flask import Response, request
from werkzeug.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dash import Dash

_UPDATE = "/_dash-update-component"
_PARTS = ("inputs", "state")
_BAD_REQUEST = 400
_MOST_BYTES = 1 << 20
"""Maximum size of a request body. The requests of the page have some hundred bytes."""


def refuse_malformed(app: Dash) -> None:
    """Answer requests that the page cannot have sent with status 400 and one line."""

    def check() -> Response | None:
        if request.path != _UPDATE or request.method != "POST":
            return None
        reason = _fault(app.callback_map)
        return None if reason is None else _line(_BAD_REQUEST, f"malformed request: {reason}")

    def explain(error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.code is not None:
            start = "malformed request" if error.code == _BAD_REQUEST else error.name
            return _line(error.code, f"{start}: {error.description}")
        # Dash raises a DashException on a request for a file that it does not serve.
        return _line(_BAD_REQUEST, f"malformed request: {error}")

    app.server.config["MAX_CONTENT_LENGTH"] = _MOST_BYTES
    app.server.before_request(check)
    app.server.register_error_handler(HTTPException, explain)
    app.server.register_error_handler(DashException, explain)


def _line(status: int, text: str) -> Response:
    answer = Response(f"{' '.join(text.split())}\n", status=status, mimetype="text/plain")
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def _fault(callbacks: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the reason why a request cannot be from the page; None if it can."""
    try:
        asked = request.get_json(silent=True)
    except (OSError, RecursionError):
        # The chunked encoding of the request is invalid, or its JSON is nested too deeply.
        asked = None
    if not isinstance(asked, dict):
        return "the body must be a JSON object"
    output = asked.get("output")
    callback = callbacks.get(output) if isinstance(output, str) else None
    if callback is None:
        return "output must name an output of the page"
    wanted = output.strip(".").split("...") if isinstance(output, str) else []
    if [f"{each[0]}.{each[1]}" for each in _places(asked.get("outputs"))] != wanted:
        return "outputs must list the outputs that output names"
    for part in _PARTS:
        places = [(each["id"], each["property"]) for each in callback[part]]
        if _places(asked.get(part)) != places:
            return f"{part} must list what the page sends for this output"
    changed = asked.get("changedPropIds", [])
    if not isinstance(changed, list) or not all(isinstance(each, str) for each in changed):
        return "changedPropIds must be a list of texts"
    return None


def _places(listed: object) -> list[tuple[object, object]]:
    """Return (id, property) of each item in a list of a request; nothing if it is not a list."""
    places: Iterable[object] = listed if isinstance(listed, list) else ()
    return [
        (each.get("id"), each.get("property")) if isinstance(each, dict) else (None, None)
        for each in places
    ]
