"""Figures of README and docs: each comes from a stored result, and a page that differs is found.

A result is ``docs/results/NAME.json``: what a command printed, with the command, the commit, the
date, the versions and the hardware. A page names the result of a figure in a comment right behind
it::

    1.009<!-- loads: results[grouping=planned].max_over_mean .3f -->

The line behind a comment ``<!-- source: loads -->`` says how the result was measured.

``python -m tools.results`` has three commands. ``run NAME`` runs the command of a result and stores
what it prints, ``write`` writes the figures into the pages and draws the charts, and ``check``
reports figures and charts that differ from their results, and results whose code has changed since.
"""
