"""Figures of README and docs: each comes from a stored result, and a page that differs is found.

A result is ``docs/results/NAME.json``: what a command printed, with the command, the commit, the
date, the versions and the hardware. A page names the result of a figure in a comment right behind
it::

    1.009<!-- loads: results[grouping=planned].max_over_mean .3f -->

A comment with a blank line before a table names the figures of its columns. The first cell of each
row replaces the braces::

    <!-- table: loads results[grouping={}]
    max/mean: max_over_mean .3f
    -->

    | grouping | max/mean |
    |---|---|
    | `planned` | 1.009 |

The line behind a comment ``<!-- source: loads -->`` says how the result was measured. A result in
`catalog.toml` that is ``deterministic`` can be run on a loaded machine.

``python -m tools.results`` has three commands. ``run NAME`` runs the command of a result and stores
what it prints, ``write`` writes the figures into the pages and draws the charts, and ``check``
reports figures and charts that differ from their results, figures that look measured and are not
marked, and results that were run with uncommitted changes or whose code has changed since.
"""
