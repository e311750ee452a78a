"""All applications, by name."""

from __future__ import annotations

from evenkey.applications.heavy_keys import FindHeavyHitters
from evenkey.applications.naive_bayes import NaiveBayes
from evenkey.applications.trees import DecisionTree
from evenkey.applications.word_count import WordCount
from evenkey.core.spelling import read
from evenkey.pipeline.application import Application

APPLICATIONS: dict[str, type[Application]] = {
    application.name: application
    for application in (WordCount, FindHeavyHitters, NaiveBayes, DecisionTree)
}
"""Applications by name.

>>> [*APPLICATIONS]
['wordcount', 'heavy-hitters', 'naive-bayes', 'decision-tree']
"""


def parse(text: str | Application) -> Application:
    """Read an application from its spelling, such as ``wordcount`` or ``naive-bayes(alpha=0.5)``.

    An application is returned unchanged.

    Raises
    ------
    ConfigurationError
        The application or a parameter does not exist, or a value is invalid; the message lists
        the alternatives.

    Examples
    --------
    >>> print(parse("naive-bayes(alpha=0.5)"))
    naive-bayes(alpha=0.5)
    """
    return text if isinstance(text, Application) else read("application", text, APPLICATIONS)
