"""Stand-ins for what tiny jobs read, in the published formats, all of the synthetic world.

Cities, PEPs, proposals of three kinds, claims, a suite, captions and SmolLM2's file.
"""

import json
from pathlib import Path
from typing import Any

from experiments.gpu.data import WEIGHTS
from longform.documents import Document
from longform.language_models import tokenizers
from synthetic_world.corpora import build

SEED = 1234
PAGES = 24  # of the encyclopedia, of which all texts but captions and the suite are made
SYMBOLS = 400  # of the tokenizer
POSITIONS = 256  # of the network


def write(folder: Path) -> None:
    """Write all stand-ins below a folder, at the paths of the scales' ``data.yaml``."""
    from experiments.gpu.tiny_gguf import tiny_llama, write_gguf

    corpus = build(name="pages", seed=SEED, domain="encyclopedia", documents={"train": PAGES})
    pages = list(corpus.documents)
    # Cities, of which two jobs read a copy each.
    cities = "".join(f"{marked(page)}\n" for page in pages)
    (folder / "facts").mkdir(parents=True)
    (folder / "cities.txt").write_text(cities, encoding="utf-8")
    (folder / "facts" / "cities.txt").write_text(cities, encoding="utf-8")
    # Claims about them.
    rows = "".join(json.dumps(row) + "\n" for row in claims(pages))
    (folder / "facts" / "symmetric.jsonl").write_text(rows, encoding="utf-8")
    # PEPs.
    (folder / "peps").mkdir()
    for number, page in enumerate(pages):
        path = folder / "peps" / f"pep-{number:04}.rst"
        path.write_text(proposal(number, page), encoding="utf-8")
    # Proposals of three kinds.
    for kind in ("peps", "eips", "rfcs"):
        (folder / "proposals" / kind).mkdir(parents=True)
    for number, page in enumerate(pages):
        for name, text in (
            (f"peps/pep-{number:04}.rst", proposal(number, page)),
            (f"eips/eip-{number}.md", markdown_proposal(page)),
            (f"rfcs/{number:04}-page.md", markdown_proposal(page)),
        ):
            (folder / "proposals" / name).write_text(text, encoding="utf-8")
    # A suite.
    (folder / "suites").mkdir()
    rows = "".join(json.dumps(row) + "\n" for row in schemas())
    (folder / "suites" / "wsc273.jsonl").write_text(rows, encoding="utf-8")
    # Captions in four languages.
    (folder / "multi30k").mkdir()
    for language, lines in captions().items():
        path = folder / "multi30k" / f"train.{language}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # SmolLM2's file.
    tokenizer = tokenizers.fit(documents=pages, kind="byte_pair", vocab_size=SYMBOLS).tokenizer
    (folder / WEIGHTS).parent.mkdir(parents=True)
    write_gguf(folder / WEIGHTS, tiny_llama(tokenizer, POSITIONS), tokenizer)


def marked(page: Document) -> str:
    """A page as a line of WikiSection's marked form."""
    titles = ("ABSTRACT", "HISTORY", "GEOGRAPHY", "DEMOGRAPHICS")
    parts = []
    for number, section in enumerate(page.sections):
        text = " ".join(section.text.split())
        parts.append(f"[ {titles[min(number, len(titles) - 1)]} ] {text}")
    return " ".join(parts)


def proposal(number: int, page: Document) -> str:
    """A page as a PEP; every fourth one is of a year of which SmolLM2 has read no text."""
    year = 2025 if number % 4 == 0 else 2010
    lines = [f"PEP: {number}", f"Title: {page.id}", f"Created: 01-Apr-{year}", ""]
    for title, section in zip(("Abstract", "Motivation", "Rationale"), page.sections, strict=False):
        lines += [title, "=" * len(title), "", " ".join(section.text.split()), ""]
    return "\n".join(lines)


def markdown_proposal(page: Document) -> str:
    """A page as an EIP or an RFC."""
    lines = [f"# {page.id}", ""]
    for title, section in zip(("Summary", "Motivation", "Rationale"), page.sections, strict=False):
        lines += [f"## {title}", "", " ".join(section.text.split()), ""]
    return "\n".join(lines)


def captions() -> dict[str, list[str]]:
    """Captions by language, one a line: every noun with every verb and every place.

    A word of another language is the English one with that language's ending.
    """
    captions: dict[str, list[str]] = {language: [] for language in ("en", "de", "fr", "cs")}
    for noun in ("dog", "girl", "man", "horse", "boy"):
        for verb in ("runs", "sits", "jumps", "waits"):
            for place in ("outside", "nearby", "indoors", "upstairs"):
                words = ("the", noun, verb, place)
                for language, lines in captions.items():
                    ending = "" if language == "en" else language
                    lines.append(" ".join(word + ending for word in words))
    return captions


def schemas() -> list[dict[str, Any]]:
    """Two Winograd schemas of two sentences each, in WSC273's form."""
    rows: list[dict[str, Any]] = []
    for first, second in (("box", "bag"), ("cup", "jar")):
        for number, word in enumerate(("small", "large")):
            sentence = f"The {first} does not fit into the {second} because [MASK] is {word}."
            candidates = [f"the {second}", f"the {first}"]
            if number:  # the right candidate is always the first
                candidates.reverse()
            row = {"sentence": sentence, "mask": "[MASK]", "candidates": candidates, "correct": 0}
            rows.append({"id": len(rows), **row})
    return rows


def claims(pages: list[Document]) -> list[dict[str, str]]:
    """Rows of Symmetric FEVER: of each page two claims with two sentences each.

    A sentence supports the claim that equals it and refutes the other.
    """
    rows = []
    for number, page in enumerate(pages):
        first, second = f"{page.id} is old .", f"{page.id} is new ."
        for claim in (first, second):
            for evidence in (first, second):
                label = "SUPPORTS" if claim == evidence else "REFUTES"
                about = {"claim": f"{number} {claim}", "evidence": f"{number} {evidence}"}
                rows.append({**about, "gold_label": label})
    return rows
