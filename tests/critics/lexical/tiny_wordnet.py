"""A word net of nineteen nouns, written out in both published formats; relations are small enough to walk by hand."""

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

# words: (gloss, hypernyms, parts, antonym); a synset is named by its first word, senses of a word follow the order here
NOUNS = {"entity": ("that which exists", [], [], None),
         "animal": ("a living organism that moves and feeds on other organisms", ["entity"], [], None),
         "dog hound": ("a domestic animal that barks and guards the house", ["animal"], [], None),
         "cat": ("a small domestic animal that hunts mice", ["animal"], [], None),
         "artifact": ("an object made by a person", ["entity"], [], None),
         "house": ("a building in which people live", ["artifact"], ["door"], None),
         "door": ("a panel that closes the entrance of a building", ["artifact"], [], None),
         "doghouse dog_house": ("a small house for a dog", ["house"], [], None),
         "time": ("what clocks measure", ["entity"], [], None),
         "day": ("the light part of the clock round", ["time"], [], "night"),
         "night": ("the dark part of the clock round", ["time"], [], "day"),
         "noon": ("the middle of the day", ["day"], [], "moonlight"),
         "midnight": ("the middle of the night", ["night"], [], None),
         "moonlight": ("shine from above", ["entity"], [], "noon"), "puppy": ("a young dog", ["dog"], [], None),
         "robot_dog": ("a machine in the shape of a dog", ["dog", "artifact"], [], None),
         "bank": ("a building where money is kept", ["artifact"], [], None),
         "land": ("the solid part of the ground", ["entity"], [], None),
         "slope bank": ("sloping land beside a river", ["land"], [], None)}  # fmt: skip
NAMES = [words.split()[0] for words in NOUNS]
LEX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource>
<Lexicon id="tiny" label="Tiny" language="en" email="a@b.c" license="CC0" version="1">"""


def write_lmf(path: Path) -> Path:
    """WN-LMF; hyponyms and holonyms are left for the reader to close."""
    ids = {name: f"tiny-{i:02d}-n" for i, name in enumerate(NAMES)}
    lines = [LEX]
    for word in sorted({word for words in NOUNS for word in words.split()}):
        homes = [words.split()[0] for words in NOUNS if word in words.split()]
        senses = ""
        for home in homes:
            antonym = NOUNS[next(w for w in NOUNS if w.split()[0] == home)][3]
            relation = f"<SenseRelation relType='antonym' target='tiny-{antonym}-{antonym}'/>" if antonym else ""
            senses += f"<Sense id='tiny-{home}-{word}' synset='{ids[home]}'>{relation}</Sense>"
        form = quoteattr(word.replace("_", " "))
        lines.append(
            f"<LexicalEntry id='tiny-w-{word}'><Lemma writtenForm={form} partOfSpeech='n'/>{senses}</LexicalEntry>"
        )
    for name, (gloss, hypernyms, parts, _) in zip(NAMES, NOUNS.values(), strict=True):
        links = "".join(f"<SynsetRelation relType='hypernym' target='{ids[h]}'/>" for h in hypernyms)
        links += "".join(f"<SynsetRelation relType='mero_part' target='{ids[p]}'/>" for p in parts)
        body = f"<Definition>{escape(gloss)}</Definition>{links}"
        lines.append(f"<Synset id='{ids[name]}' ili='' partOfSpeech='n'>{body}</Synset>")
    path.write_text("\n".join([*lines, "</Lexicon>", "</LexicalResource>"]), encoding="utf-8")
    return path


def write_database(folder: Path) -> Path:
    """The files of the Princeton WordNet: data.noun with byte offsets, index.noun, and empty ones for the rest."""
    folder.mkdir(parents=True)
    offsets = dict.fromkeys(NAMES, 0)
    for _ in range(2):  # the first pass measures, offsets being of fixed width
        lines, place = [], 0
        for name, words in zip(NAMES, NOUNS, strict=True):
            offsets[name] = place
            lines.append(_line(name, words, offsets))
            place += len(lines[-1].encode())
    (folder / "data.noun").write_text("".join(lines), encoding="utf-8")
    (folder / "index.noun").write_text("".join(_index(offsets)), encoding="utf-8")
    for part in ("verb", "adj", "adv"):
        (folder / f"data.{part}").write_text("")
        (folder / f"index.{part}").write_text("")
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"{part}.exc").write_text("mice mouse\n" if part == "noun" else "")
    (folder / "lexnames").write_text("00\tnoun.Tops\t1\n")
    (folder / "index.sense").write_text("".join(_senses(offsets)))
    return folder


def _line(name: str, words: str, offsets: dict[str, int]) -> str:
    gloss, hypernyms, parts, antonym = NOUNS[words]
    pointers = [("@", h, "0000") for h in hypernyms] + [("%p", p, "0000") for p in parts]
    pointers += [("~", other.split()[0], "0000") for other in NOUNS if name in NOUNS[other][1]]
    pointers += [("#p", other.split()[0], "0000") for other in NOUNS if name in NOUNS[other][2]]
    pointers += [("!", antonym, "0101")] if antonym else []
    listed = " ".join(f"{sign} {offsets[target]:08d} n {place}" for sign, target, place in pointers)
    spelled = " ".join(f"{word} 0" for word in words.split())
    return f"{offsets[name]:08d} 00 n {len(words.split()):02x} {spelled} {len(pointers):03d} {listed} | {gloss}  \n"


def _index(offsets: dict[str, int]) -> list[str]:
    lines = []
    for word in sorted({word for words in NOUNS for word in words.split()}):
        homes = [words.split()[0] for words in NOUNS if word in words.split()]
        places = " ".join(f"{offsets[home]:08d}" for home in homes)
        lines.append(f"{word} n {len(homes)} 1 @ {len(homes)} 0 {places}  \n")
    return lines


def _senses(offsets: dict[str, int]) -> list[str]:
    lines = []
    for word in sorted({word for words in NOUNS for word in words.split()}):
        homes = [words.split()[0] for words in NOUNS if word in words.split()]
        lines += [f"{word}%1:00:0{i}:: {offsets[home]:08d} {i + 1} {5 - i}\n" for i, home in enumerate(homes)]
    return lines
