"""Find the line of the user's code that began a query, if Spark recorded it."""

from __future__ import annotations

import re

from evenkey.reports.diagnosis.reading import limits

_SITE = re.compile(r"[\w.$]+ at [^\s()]+:\d+")
_NOT_A_PLACE = ("NativeMethodAccessorImpl", "<unknown>", "DirectMethodHandleAccessor", ":0")


def call_site(description: object, details: object) -> str:
    """Return the line of code that began a query, as Spark wrote it; empty if it is unknown.

    Parameters
    ----------
    description, details
        Two texts from the log: a title such as ``collect at job.py:12``, and a stack trace.

    Examples
    --------
    >>> call_site("collect at /srv/job.py:12", None)
    'collect at /srv/job.py:12'
    >>> call_site("save at NativeMethodAccessorImpl.java:0", None)
    ''
    """
    for text in (description, details):
        for site in _SITE.findall(limits.text(text) if isinstance(text, str) else ""):
            if not any(each in site for each in _NOT_A_PLACE):
                return str(site)
    return ""
