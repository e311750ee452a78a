"""Colours, charts, tables and pages, shared by all modules that draw.

A `Chart` is declared before there is data, and draws a data frame later, as an image of a page. A
live chart, which changes while it is shown, starts from a `themed` figure. Only this package
imports Matplotlib, Plotly and Jinja, and only when something is drawn.

>>> Axis("workers", "Workers, W", "category").column
'workers'
"""

from __future__ import annotations

from evenkey.reports.pictures.axes import Axis, Grid
from evenkey.reports.pictures.chart import Chart, Plot
from evenkey.reports.pictures.live_figures import (
    Figure,
    Shades,
    heat,
    look,
    marks,
    shaded,
    stacked,
    themed,
    whole_ticks,
)
from evenkey.reports.pictures.pages import check_packages, check_page, write_page
from evenkey.reports.pictures.table import Column, Table
from evenkey.reports.pictures.task_bars import Span, Timeline
from evenkey.reports.pictures.theme import GROUPINGS, THEMES, Theme

__all__ = [
    "GROUPINGS",
    "THEMES",
    "Axis",
    "Chart",
    "Column",
    "Figure",
    "Grid",
    "Plot",
    "Shades",
    "Span",
    "Table",
    "Theme",
    "Timeline",
    "check_packages",
    "check_page",
    "heat",
    "look",
    "marks",
    "shaded",
    "stacked",
    "themed",
    "whole_ticks",
    "write_page",
]
