"""The dashboard: a live web page that shows running and finished pipelines.

The page reads the histories that the runs write.
"""

from __future__ import annotations

from evenkey.reports.dashboard.web_server import Server

__all__ = ["Server"]
