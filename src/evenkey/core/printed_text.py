"""Make texts ready to print: harmless, and with a capital at the beginning."""

from __future__ import annotations


def printable(text: str, *, kept: str = "") -> str:
    r"""Replace characters that are not printable, such as those that control a terminal, by ``?``.

    Parameters
    ----------
    text
        Text that may come from data: a key, a path, a name from a log.
    kept
        Characters to keep although they are not printable, such as line ends.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a?[31mb'
    >>> printable("two\nlines", kept="\n")
    'two\nlines'
    """
    return "".join(each if each.isprintable() or each in kept else "?" for each in text)


def capitalized(text: str) -> str:
    """Return a text with its first character in upper case.

    Examples
    --------
    >>> capitalized("is of DKG")
    'Is of DKG'
    """
    return text[:1].upper() + text[1:]
