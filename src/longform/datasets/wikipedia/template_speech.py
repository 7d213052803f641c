"""Templates of languages and of sounds, as the reader sees them."""

import re

from longform.datasets.wikipedia.arguments import Arguments, data
from longform.datasets.wikipedia.marks import HOLE, literal


def _language(code: str) -> str | None:
    """The name of a language, or of the one that a dialect's code begins with."""
    languages = data()["languages"]
    return languages.get(code) or languages.get(code.split("-")[0])


def language_text(arguments: Arguments) -> str | None:
    """The language's name before the text.

    ``{{lang-ru|text|transliteration|meaning}}`` and ``{{langx|ru|text}}`` are read.
    """
    # 1. The language, in the template's name or in its first parameter.
    code, shift = arguments.name.removeprefix("lang-"), 0
    if arguments.name in ("langx", "lang-x"):
        code, shift = arguments[1].lower(), 1
    if code == "zh":
        return chinese_text(arguments)
    label = arguments["label"]
    language = label or _language(code)
    text = arguments.first("text", 1 + shift)
    if not text or language is None:
        return None
    # 2. The text, its sounds and its meaning.
    parts = [text]
    if latin := arguments.first("translit", "tr", "r", 2 + shift):
        parts.append(f"romanized: {latin}")
    if arguments["p"]:
        parts.append(f"IPA: [{arguments['p']}]")
    if meaning := arguments.first("lit", "translation", "t", 3 + shift):
        if HOLE.search(meaning) is None and "[" not in meaning:
            meaning = literal(meaning)
        parts.append(f"lit. '{meaning}'")
    shown = ", ".join(parts)
    return shown if label.lower() in ("none", "no") else f"{language}: {shown}"


_CHINESE = (
    ("c", "Chinese"),
    ("s", "simplified Chinese"),
    ("t", "traditional Chinese"),
    ("hp", "pinyin"),
    ("p", "pinyin"),
    ("tp", "Tongyong Pinyin"),
    ("w", "Wade–Giles"),
    ("j", "Jyutping"),
    ("cy", "Cantonese Yale"),
    ("poj", "Pe̍h-ōe-jī"),
)


def chinese_text(arguments: Arguments) -> str | None:
    """The readings of ``{{zh|c=...|p=...}}``, each behind its label."""
    labels = arguments["labels"] != "no"
    shown = []
    for key, label in _CHINESE:
        if arguments[key]:
            shown.append(f"{label}: {arguments[key]}" if labels else arguments[key])
    if arguments[1] and not shown:
        shown.append(f"Chinese: {arguments[1]}" if labels else arguments[1])
    meaning = arguments.first("l", "lit", "tr")
    if meaning:
        shown.append(f"lit. '{meaning}'")
    return "; ".join(shown) or None


def nihongo(arguments: Arguments) -> str | None:
    """``{{nihongo|English|kanji|romaji|extra}}``: "English (kanji, romaji, extra)".

    Without English it is "romaji (kanji, extra)". ``{{nihongo3|romaji|kanji|English}}`` has the
    first and third parameter exchanged; ``lead=yes`` puts "Japanese: " before the kanji.
    """
    english, kanji, romaji = arguments[1], arguments[2], arguments[3]
    if arguments.name == "nihongo3":
        english, romaji = romaji, english
    extra = arguments["extra"] or arguments[4]
    head = english or romaji
    in_brackets = [kanji, romaji, extra] if english else [kanji, extra]
    inside = ", ".join(filter(None, in_brackets))
    if arguments.yes("lead") and kanji:
        inside = f"Japanese: {inside}"
    return f"{head} ({inside})" if head and inside else head or inside or None


def korean(arguments: Arguments) -> str | None:
    """The readings of ``{{korean|hangul=...|rr=...}}``, each behind its label."""
    labels = {"hangul": "Korean", "hanja": "Hanja", "rr": "RR", "mr": "MR"}
    shown = []
    for key, label in labels.items():
        if arguments[key]:
            shown.append(f"{label}: {arguments[key]}")
    if not shown and arguments[1]:
        shown.append(f"Korean: {arguments[1]}")
    return "; ".join(shown) or None


# What stands before sounds that are in brackets.
_BEFORE_SOUNDS = {
    "lang": "",
    "local": "locally ",
    "pron": "pronounced ",
    "p": "pronounced ",
    "also": "also ",
    "": "",
}
# What stands before English sounds.
_ENGLISH_LABELS = {
    "uk": "UK: ",
    "us": "US: ",
    "lang": "English: ",
    "pron": "pronounced ",
    "local": "locally ",
    "also": "also ",
    "ukalso": "UK also ",
    "usalso": "US also ",
    "au": "AU: ",
    "nz": "NZ: ",
    "ca": "CA: ",
}


def english_sounds(arguments: Arguments) -> str | None:
    """``{{IPAc-en|UK|ə|ˈ|d|oʊ}}``: the sounds one by one, labels before them."""
    labels: list[str] = []
    sounds: list[str] = []
    for part in arguments.items():
        if part.lower() in _ENGLISH_LABELS and not sounds:
            labels.append(_ENGLISH_LABELS[part.lower()])
        elif part == "_":
            sounds.append(" ")
        elif not re.search(r"\.(?:ogg|wav|oga|mp3)$", part, re.IGNORECASE):
            sounds.append({"-": "", ",": ", ", ";": "; "}.get(part, part))
    if not sounds:
        return None
    return f"{''.join(labels)}/{''.join(sounds).replace('_', ' ')}/"


def sounds(arguments: Arguments) -> str | None:
    """Sounds in brackets, behind the name of their language or another label.

    ``{{IPA-de|text|lang}}`` and ``{{IPA|de|text}}`` are "German: [text]", ``{{IPA-de|text}}`` is
    "German pronunciation: [text]", ``{{IPA-de|text|local}}`` is "locally [text]",
    ``{{IPA-de|text|Label}}`` is "Label [text]", and ``{{IPA|text}}`` is the bare text. With the
    code "all" no language is named. None without a text or for an unknown language.
    """
    # 1. The parameters of ``{{IPA-de|text|kind}}`` or of ``{{IPA|de|text|kind}}``.
    code = arguments.name.partition("-")[2]
    if code:
        text, label = arguments[1], arguments[2]
        kind = label.lower()
    else:
        code, text, label = arguments[1].lower(), arguments[2], arguments[3]
        kind = label.lower() or "lang"
        if not text or code not in data()["languages"]:
            return arguments[1] or None
    # 2. What stands before the sounds.
    if code == "all":
        return f"{_BEFORE_SOUNDS.get(kind, label + ' ')}[{text}]"
    language = _language(code)
    if not text or language is None:
        return None
    if kind not in _BEFORE_SOUNDS:
        return f"{label} [{text}]"
    if kind in ("local", "pron", "p", "also"):
        return f"{_BEFORE_SOUNDS[kind]}[{text}]"
    return f"{language}: [{text}]" if kind == "lang" else f"{language} pronunciation: [{text}]"


def respelling(arguments: Arguments) -> str | None:
    """``{{respell|pron|UN|see}}``: syllables with hyphens between them."""
    text = "-".join(arguments.items()).replace("-_-", " ").replace("_", " ")
    return re.sub(r"-?([,;'])-?", r"\1 ", text) or None
