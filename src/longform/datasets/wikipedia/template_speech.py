"""Templates of languages and of sounds, as the reader sees them."""

import re

from longform.datasets.wikipedia.arguments import Arguments, data
from longform.datasets.wikipedia.marks import HOLE, literal


def language_text(arguments: Arguments) -> str | None:
    """``{{lang-ru|text|transliteration|meaning}}`` and ``{{langx|ru|text}}``: the language's name before the text."""
    code, shift = arguments.name.removeprefix("lang-"), 0
    if arguments.name in ("langx", "lang-x"):
        code, shift = arguments[1].lower(), 1
    if code == "zh":
        return chinese_text(arguments)
    language = data()["languages"].get(code) or data()["languages"].get(code.split("-")[0])
    text = arguments.first("text", 1 + shift)
    if not text or (language is None and not arguments["label"]):
        return None
    parts = [text]
    latin = arguments.first("translit", "tr", "r", 2 + shift)
    if latin:
        parts.append(f"romanized: {latin}")
    if arguments["p"]:
        parts.append(f"IPA: [{arguments['p']}]")
    meaning = arguments.first("lit", "translation", "t", 3 + shift)
    if meaning:
        parts.append(
            f"lit. '{literal(meaning) if HOLE.search(meaning) is None and '[' not in meaning else meaning}'"
        )
    if arguments["label"].lower() in ("none", "no"):
        return ", ".join(parts)
    return f"{arguments['label'] or language}: {', '.join(parts)}"


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
    labels = not arguments["labels"] or arguments["labels"] != "no"
    shown = [
        (f"{label}: " if labels else "") + arguments[key]
        for key, label in _CHINESE
        if arguments[key]
    ]
    if arguments[1] and not shown:
        shown = [("Chinese: " if labels else "") + arguments[1]]
    meaning = arguments.first("l", "lit", "tr")
    if meaning:
        shown.append(f"lit. '{meaning}'")
    return "; ".join(shown) or None


def nihongo(arguments: Arguments) -> str | None:
    """English (kanji, romaji, more); without English the romaji stands first."""
    english, kanji, romaji, extra = (arguments[place] for place in range(1, 5))
    if arguments.name == "nihongo3":
        english, romaji = romaji, english
    extra = arguments["extra"] or extra
    head, rest = (english, [kanji, romaji, extra]) if english else (romaji, [kanji, extra])
    inside = ", ".join(part for part in rest if part)
    if arguments.yes("lead") and kanji:
        inside = f"Japanese: {inside}"
    return f"{head} ({inside})" if head and inside else head or inside or None


def korean(arguments: Arguments) -> str | None:
    labels = (("hangul", "Korean"), ("hanja", "Hanja"), ("rr", "RR"), ("mr", "MR"))
    shown = [f"{label}: {arguments[key]}" for key, label in labels if arguments[key]]
    if not shown and arguments[1]:
        shown = [f"Korean: {arguments[1]}"]
    return "; ".join(shown) or None


_SAID = {
    "lang": "",
    "local": "locally ",
    "pron": "pronounced ",
    "p": "pronounced ",
    "also": "also ",
    "": "",
}


def english_sounds(arguments: Arguments) -> str | None:
    """``{{IPAc-en|UK|ə|ˈ|d|oʊ}}``: the sounds one by one, labels before them."""
    labels, sounds = list[str](), list[str]()
    for part in arguments.items():
        label = {"uk": "UK: ", "us": "US: ", "lang": "English: ", "pron": "pronounced ", "local": "locally ", "also": "also ",
                 "ukalso": "UK also ", "usalso": "US also ", "au": "AU: ", "nz": "NZ: ", "ca": "CA: "}.get(part.lower())  # fmt: skip
        if label is not None and not sounds:
            labels.append(label)
        elif part in ("_", ""):
            sounds.append(" ")
        elif not re.search(r"\.(?:ogg|wav|oga|mp3)$", part, re.IGNORECASE):
            sounds.append({"-": "", "...": "...", ",": ", ", ";": "; "}.get(part, part))
    return "".join(labels) + f"/{''.join(sounds).replace('_', ' ')}/" if sounds else None


def sounds(arguments: Arguments) -> str | None:
    """``{{IPA-de|text|lang}}`` and ``{{IPA|de|text}}``: "German: [text]"."""
    code = arguments.name.partition("-")[2]
    text, kind = arguments[1], arguments[2].lower()
    if not code:
        if arguments[2] and arguments[1].lower() in data()["languages"]:
            code, text, kind = arguments[1].lower(), arguments[2], arguments[3].lower() or "lang"
        else:
            return text or None
    if code == "all":
        return f"{_SAID.get(kind, arguments[2] + ' ')}[{text}]"
    language = data()["languages"].get(code) or data()["languages"].get(code.split("-")[0])
    if not text or language is None:
        return None
    if kind not in _SAID:
        return f"{arguments[2]} [{text}]"
    if kind in ("local", "pron", "p", "also"):
        return f"{_SAID[kind]}[{text}]"
    return f"{language}: [{text}]" if kind == "lang" else f"{language} pronunciation: [{text}]"


def respelling(arguments: Arguments) -> str | None:
    text = "-".join(arguments.items()).replace("-_-", " ").replace("_", " ")
    return re.sub(r"-?([,;'])-?", r"\1 ", text) or None
