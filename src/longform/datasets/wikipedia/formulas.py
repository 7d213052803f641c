r"""Formulas as plain text: TeX (``<math>``) and chemistry.

None stands for what one line of text cannot show.
"""

import re
from functools import cache
from pathlib import Path

import yaml

_COMMANDS = Path(__file__).with_name("data") / "tex.yaml"
_WRAPPERS = (
    "text|textrm|textit|textbf|textsf|mathrm|mathit|mathbf|mathbb|mathcal|mathfrak|mathsf|mathtt"
    "|mathscr|operatorname|mbox|hbox|boldsymbol|pmb|bar|overline|underline|hat|widehat|tilde"
    "|widetilde|vec|overrightarrow|dot|ddot|ce|mathop|mathbin|mathrel"
)
_GROUP = r"\{([^{}]*)\}"
_WRAPPED = re.compile(rf"\\(?:{_WRAPPERS})\*?\s*{_GROUP}")
_FRACTION = re.compile(rf"\\[dtc]?frac\s*(?:{_GROUP}|(\w))\s*(?:{_GROUP}|(\w))")
_OVER = re.compile(r"\{([^{}]*)\\over(?![a-zA-Z])([^{}]*)\}")
_BINOMIAL = re.compile(rf"\\[dt]?binom\s*{_GROUP}\s*{_GROUP}")
_ROOT = re.compile(rf"\\sqrt\s*(?:\[([^\[\]]*)\])?\s*(?:{_GROUP}|(\w))")
_SCRIPT = re.compile(rf"([_^])\s*{_GROUP}")
_BARE_GROUP = re.compile(rf"(?<![\\\w^_]){_GROUP}")
_SPACES = re.compile(r"\\(?:[,;:!> ]|quad|qquad|thinspace)|~")
_COMMAND = re.compile(r"\\([a-zA-Z]+)\*?")
_ESCAPED = re.compile(r"\\([{}%$&#_|])")
_ROUNDS = 12  # groups nested deeper than this are no line of text
_OPEN, _CLOSE = "\ue000", "\ue001"  # braces that are shown


@cache
def _commands() -> dict[str, str]:
    """TeX's command -> its text: a sign, its own name, or nothing."""
    data = yaml.safe_load(_COMMANDS.read_text(encoding="utf-8"))
    shown = dict.fromkeys(data["styles"].split(), "")
    for word in data["words"].split():
        shown[word] = word
    for pair in data["symbols"].split():
        name, _, sign = pair.partition("=")
        shown[name] = sign
    return shown


def _grouped(inside: str) -> str:
    """One name or number as it is, anything longer in parentheses."""
    inside = inside.strip()
    return inside if re.fullmatch(r"[-−+]?[\w.∞′*]+|[-+−]|\([^()]*\)", inside) else f"({inside})"


def _fraction(match: re.Match[str]) -> str:
    numerator, denominator = match[1] or match[2] or "", match[3] or match[4] or ""
    return f"{_grouped(numerator)}/{_grouped(denominator)}"


def _root(match: re.Match[str]) -> str:
    r"""``√x`` of ``\sqrt{x}``; ``x^(1/3)`` of ``\sqrt[3]{x}``."""
    inside = _grouped(match[2] if match[2] is not None else match[3])
    return f"√{inside}" if not match[1] else f"{inside}^(1/{match[1]})"


def tex_text(tex: str) -> str | None:
    r"""One line of text for a formula in TeX.

    None: it has rows, or a command that is not known. ``\frac{a}{b+1}`` is ``a/(b+1)``, ``x^{2}``
    is ``x^2``, ``\alpha`` is the letter.
    """
    if r"\begin" in tex or r"\\" in tex:
        return None
    # 1. Braces that are shown are no groups.
    text = _ESCAPED.sub(lambda match: {"{": _OPEN, "}": _CLOSE}.get(match[1], match[1]), tex)
    text = _SPACES.sub(" ", text)
    # 2. Innermost groups first, until no group is left.
    for _ in range(_ROUNDS):
        before = text
        text = _WRAPPED.sub(r"\1", text)
        text = _FRACTION.sub(_fraction, text)
        text = _OVER.sub(lambda match: f"{_grouped(match[1])}/{_grouped(match[2])}", text)
        text = _BINOMIAL.sub(lambda match: f"C({match[1]}, {match[2]})", text)
        text = _ROOT.sub(_root, text)
        text = _SCRIPT.sub(lambda match: match[1] + _grouped(match[2]), text)
        if text == before:  # no command waits for a group
            text = _BARE_GROUP.sub(r"\1", text)
        if text == before:
            break
    # 3. Commands that have no group.
    if not _commands().keys() >= set(_COMMAND.findall(text)):
        return None
    text = _COMMAND.sub(_command_text, text)
    if "\\" in text or "{" in text or "}" in text or not text.strip():
        return None
    text = text.replace(_OPEN, "{").replace(_CLOSE, "}")
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\s+(?=[_^])|(?<=\()\s+|\s+(?=\))", "", text).strip()


def _command_text(command: re.Match[str]) -> str:
    """A command's text; a blank behind a word such as "sin" that another one follows."""
    shown = _commands()[command[1]]
    following = command.string[command.end() : command.end() + 1]
    if shown == command[1] and (following.isalnum() or following == "\\"):
        return f"{shown} "
    return shown


_CHARGE = re.compile(r"\^\{?([0-9]*[+-])\}?|\((\d*[+-])\)|(?<=[A-Za-z)\]])([+-])(?=$|\s)")
_ARROWS = {"<=>": "⇌", "<->": "↔", "->": "→", "<-": "←"}


def chemistry_text(formula: str) -> str | None:
    r"""A formula of ``<chem>``, ``<ce>`` or ``{{chem2}}``; None: TeX that this does not know.

    It is ``SO4^2-`` for ``SO4(2-)`` or ``SO4^{2-}``, and ``H2O`` as it is.
    """
    text = formula.strip()
    for arrow, shown in _ARROWS.items():
        text = text.replace(arrow, shown)
    text = re.sub(r"_\{?(\w+)\}?", r"\1", text)
    text = _CHARGE.sub(lambda match: "^" + (match[1] or match[2] or match[3]), text)
    return None if not text or re.search(r"[\\{}]", text) else text
