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
WORDS = sorted({word for words in NOUNS for word in words.split()})
HOMES = {
    word: [words.split()[0] for words in NOUNS if word in words.split()] for word in WORDS
}  # its synsets
LEX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource>
<Lexicon id="tiny" label="Tiny" language="en" email="a@b.c" license="CC0" version="1">"""


def write_lmf(path: Path) -> Path:
    """WN-LMF; hyponyms and holonyms are left for the reader to close."""
    ids = {name: f"tiny-{i:02d}-n" for i, name in enumerate(NAMES)}
    antonyms = {name: antonym for name, (*_, antonym) in zip(NAMES, NOUNS.values(), strict=True)}
    lines = [LEX]
    for word, homes in HOMES.items():
        senses = ""
        for home in homes:
            antonym = antonyms[home]
            relation = (
                f"<SenseRelation relType='antonym' target='tiny-{antonym}-{antonym}'/>"
                if antonym
                else ""
            )
            senses += f"<Sense id='tiny-{home}-{word}' synset='{ids[home]}'>{relation}</Sense>"
        lemma = f"<Lemma writtenForm={quoteattr(word.replace('_', ' '))} partOfSpeech='n'/>"
        lines.append(f"<LexicalEntry id='tiny-w-{word}'>{lemma}{senses}</LexicalEntry>")
    for name, (gloss, hypernyms, parts, _) in zip(NAMES, NOUNS.values(), strict=True):
        links = "".join(
            f"<SynsetRelation relType='hypernym' target='{ids[h]}'/>" for h in hypernyms
        )
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
        for name, (words, (gloss, hypernyms, parts, antonym)) in zip(
            NAMES, NOUNS.items(), strict=True
        ):
            pointers = [("@", h, "0000") for h in hypernyms] + [("%p", p, "0000") for p in parts]
            pointers += [
                ("~", other.split()[0], "0000") for other in NOUNS if name in NOUNS[other][1]
            ]
            pointers += [
                ("#p", other.split()[0], "0000") for other in NOUNS if name in NOUNS[other][2]
            ]
            pointers += [("!", antonym, "0101")] if antonym else []
            listed = " ".join(
                f"{sign} {offsets[target]:08d} n {end}" for sign, target, end in pointers
            )
            spelled = " ".join(f"{word} 0" for word in words.split())
            offsets[name] = place
            count = f"{len(words.split()):02x} {spelled} {len(pointers):03d}"
            lines.append(f"{offsets[name]:08d} 00 n {count} {listed} | {gloss}  \n")
            place += len(lines[-1].encode())
    files = dict.fromkeys(
        (f"{kind}.{part}" for part in ("verb", "adj", "adv") for kind in ("data", "index")), ""
    )
    files |= {
        f"{part}.exc": "mice mouse\n" if part == "noun" else ""
        for part in ("noun", "verb", "adj", "adv")
    }
    files |= {
        "data.noun": "".join(lines),
        "index.noun": "",
        "lexnames": "00\tnoun.Tops\t1\n",
        "index.sense": "",
    }
    for word, homes in HOMES.items():
        places = " ".join(f"{offsets[home]:08d}" for home in homes)
        files["index.noun"] += f"{word} n {len(homes)} 1 @ {len(homes)} 0 {places}  \n"
        for i, home in enumerate(homes):
            files["index.sense"] += f"{word}%1:00:0{i}:: {offsets[home]:08d} {i + 1} {5 - i}\n"
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
