"""The dashboard: a live web page over running or finished pipelines, from their histories."""

from __future__ import annotations

from evenkey.reports.dashboard.web_server import Server

__all__ = ["Server"]
