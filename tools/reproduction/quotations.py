r"""Quotations as text that reads well: formulas in Unicode in place of TeX, emphasis, spacing.

The register keeps the documents' own characters, by which a test finds the words in their texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.reproduction.markdown import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["formula", "quotation"]

_SIGNS = {
    **dict(zip(("Omega", "Theta", "mu", "lambda", "delta", "sum"), "ΩΘμλδΣ", strict=True)),
    **dict(zip(("Gamma", "omega"), "Γω", strict=True)),
    **dict(zip(("leq", "geq", "approx", "cdot", "propto"), "≤≥≈·∝", strict=True)),
    **dict(zip(("subseteq", "mid", "times"), "⊆|\N{MULTIPLICATION SIGN}", strict=True)),
    "setminus": "\N{SET MINUS}",
    "in": "\N{ELEMENT OF}",
    "left": "",
    "right": "",
    "ln": "ln ",
}
_MINUS = "\N{MINUS SIGN}"
_BELOW = str.maketrans(f"0123456789ij+{_MINUS}", "₀₁₂₃₄₅₆₇₈₉ᵢⱼ₊₋")
_ABOVE = str.maketrans(f"0123456789dijnz+{_MINUS}", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵈⁱʲⁿᶻ⁺⁻")
_OPEN, _CLOSE = "\x01", "\x02"
_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_INNER = str.maketrans("“”", "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}")
_MATHS = re.compile(r"\\[a-zA-Z]|\$|\b[a-z]_\d")
_ABOVE_LINE = re.compile(r"[\w.]+|\w?\|\w\|")
_BELOW_LINE = re.compile(r"\d+|[A-Za-z](?:[_^]\w)?")


def quotation(text: str) -> str:
    r"""Return a quotation as Markdown.

    Examples
    --------
    >>> quotation(r"up to $\approx 9\%$ on *every* key , p_1")
    'up to ≈ 9 % on *every* key, p₁'
    """
    shown = formula(text) if _MATHS.search(text) else text
    shown = re.sub(r"(?<=\w) (?=[,.](?: |$))|(?<=\() | (?=\))", "", shown)
    shown = re.sub(r"\b(?:[A-Z] ){2,}[A-Z]\b", lambda found: found[0].replace(" ", ""), shown)
    shown = shown.replace("Greedy- d", "Greedy-d").translate(_INNER)
    shown = re.sub(
        "([\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}])\\1", r"\1", shown
    )
    parts = re.split(r"\*([^*]+)\*", shown)
    return "".join(
        f"*{plain(part)}*" if odd % 2 else plain(part.replace("*", ""))
        for odd, part in enumerate(parts)
    )


def formula(text: str) -> str:
    r"""Return text with TeX as text with Unicode.

    Examples
    --------
    >>> formula(r"\Omega\left(\frac{m}{n}\right), & \text{if } d \geq 2 \end{cases}")
    'Ω(m/n), if d ≥ 2'
    >>> formula(r"$\frac{p_1}{2}m$")
    '(p₁/2)m'
    """
    text = text.replace(" -th", "-th")
    text = re.sub(r"(\\[a-zA-Z]+|[\^_&{}()\[\] ]|(?<=_\{\w))-(?=[\w\\ ])", _negative, text)
    text = text.replace("$", "").replace("\\%", " %").replace(r"\{", _OPEN).replace(r"\}", _CLOSE)
    text = re.sub(r"\\(?:begin|end)\{\w+\}|&", "", text)
    while (changed := re.sub(r"\\(?:text|mathcal|mathbb)\{([^{}]*)\}", r"\1", text)) != text:
        text = changed
    text = re.sub(r"\\hat\{(\w)\}", "\\1\N{COMBINING CIRCUMFLEX ACCENT}", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√\1", text)
    while (changed := re.sub(rf"\\frac{_GROUP}{_GROUP}", _fraction, text)) != text:
        text = changed
    text = re.sub(r"\\([a-zA-Z]+)", lambda found: _SIGNS.get(found[1], found[1]), text)
    text = re.sub(rf"_(?:{_GROUP}|(\w))", _script(_BELOW, "_"), text)
    text = re.sub(rf"\^(?:{_GROUP}|(\w))", _script(_ABOVE, "^"), text)
    text = text.replace(_OPEN, "{").replace(_CLOSE, "}").replace("\\", "")
    return re.sub(r" +", " ", re.sub(r" (?=[,)])", "", text)).strip(" ")


def _negative(found: re.Match[str]) -> str:
    return found[1] + _MINUS


def _fraction(found: re.Match[str]) -> str:
    above, below = found[1].strip(), found[2].strip()
    above = above if _ABOVE_LINE.fullmatch(above) else f"({above})"
    below = below if _BELOW_LINE.fullmatch(below) else f"({below})"
    following = found.string[found.end() : found.end() + 1]
    return f"({above}/{below})" if following.isalnum() or following == "(" else f"{above}/{below}"


def _script(signs: Mapping[int, int], mark: str) -> Callable[[re.Match[str]], str]:
    def small(found: re.Match[str]) -> str:
        text = (found[1] or found[2]).strip()
        if all(ord(each) in signs for each in text):
            return text.translate(signs)
        return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"

    return small
