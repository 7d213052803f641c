"""Any language model writes with any decoder: a file of texts for each decoder, resumable.

The texts are those of the pipeline (:mod:`longform.decoding.continuations`): each draw has a seed
of its own, so that a text depends neither on its batch nor on where a run was stopped.
"""

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longform.critics.scores import frame
from longform.datasets.own_texts import Texts, documents_from, read_texts, set_aside_note
from longform.documents import Corpus, Document, Predictions
from longform.errors import ConfigError, InputError, counted, short_repr
from longform.files.artefacts import atomic_write, write_json
from longform.files.fingerprints import fingerprint
from longform.language_models.named_models import NamedModel, named_model
from longform.tables import json_lines, markdown_table, short
from longform.tools.unfinished import forget_unfinished, refuse_overwriting, unfinished_folder
from longform.version import __version__

if TYPE_CHECKING:
    import pandas

PROMPTS = ("text", "first_sentence")
NEW_TOKENS = 256  # massarelli2020 section 5
BATCH = 16
SEED = 1234
NAME = "texts"  # of the run, in the seeds of draws
SUMMARY = "writing.json"  # in the folder of a run
LONGEST_NAME = 50  # ours: characters of a name; file systems take 255 bytes
_FILE_NAME = re.compile(rf"(?!\.)[\w .+-]{{1,{LONGEST_NAME}}}")
Decoders = str | Sequence[str] | Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class WrittenText:
    """One continuation.

    Attributes:
        id: of its prompt, with the number of the repeat where there are several.
        decoder: its name.
        prompt: the text that is continued.
        text: the continuation alone.
        tokens: how many the continuation has.
        nats_per_token: mean negative log-probability of its tokens under the model; nan where
            there are none.
    """

    id: str
    decoder: str
    prompt: str
    text: str
    tokens: int
    nats_per_token: float


@dataclass(frozen=True)
class Writing:
    """What a model wrote.

    Attributes:
        model: its name.
        texts: by decoder, in the order of prompts and repeats.
        facts: settings, counts of prompts that were left out, and the records of their source that
            were set aside, each with its place and the reason.
        folder: in which a file for each decoder lies; None without one.
    """

    model: str
    texts: Mapping[str, tuple[WrittenText, ...]]
    facts: Mapping[str, Any]
    folder: Path | None

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each text. Raises ConfigError: pandas is not installed."""
        rows = list[dict[str, Any]]()
        for texts in self.texts.values():
            rows += map(asdict, texts)
        return frame(rows)

    def to_record(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"model": self.model, "facts": dict(self.facts), "decoders": list(self.summary())}

    def summary(self) -> Sequence[dict[str, Any]]:
        """A row for each decoder."""
        rows = []
        for decoder, texts in self.texts.items():
            nats = [text.nats_per_token for text in texts if text.tokens]
            rows.append(
                {
                    "decoder": decoder,
                    "texts": len(texts),
                    "tokens": sum(text.tokens for text in texts),
                    "empty": sum(not text.text.strip() for text in texts),
                    "nats_per_token": sum(nats) / len(nats) if nats else None,
                    "file": str(self.folder / f"{decoder}.jsonl") if self.folder else None,
                }
            )
        return rows

    def markdown(self) -> str:
        """A table, a row for each decoder."""
        # 1. A row for each decoder.
        header = ["decoder", "texts", "tokens", "empty", "nats a token", "file"]
        rows = []
        for row in self.summary():
            nats = row["nats_per_token"]
            counts = [str(row[name]) for name in ("texts", "tokens", "empty")]
            shown = "" if nats is None else short(nats)
            rows.append([row["decoder"], *counts, shown, row["file"] or ""])
        # 2. Which prompts were not continued.
        left_out = []
        for reason in ("empty", "untitled", "too_long"):
            if self.facts[f"prefixes_{reason}"]:
                left_out.append(f"{self.facts[f'prefixes_{reason}']} {reason.replace('_', ' ')}")
        notes = ["nats a token: how surprising the model itself finds what it wrote"]
        if left_out:
            notes.append(f"prompts left out: {', '.join(left_out)}")
        if self.facts["set_aside"]:
            notes.append(set_aside_note("prompts", self.facts["set_aside"]))
        return markdown_table(self.model, header, rows, notes)


@dataclass(frozen=True)
class WritingPlan:
    """What :func:`generate` will write.

    Attributes:
        model: its name.
        prompts: how many.
        continuations: how many each decoder writes, by name.
        new_tokens: most of a continuation.
        seconds: an estimate, or None.
        set_aside: (place, reason) of records that are no prompts.
        left_out: prompts that are not continued: empty, untitled, or too long for the window.
    """

    model: str
    prompts: int
    continuations: Mapping[str, int]
    new_tokens: int
    seconds: float | None = None
    set_aside: tuple[tuple[str, str], ...] = ()
    left_out: int = 0

    def text(self) -> str:
        """One line, and a second one where records of the prompts' source are set aside."""
        counts = ", ".join(f"{name} {count}" for name, count in self.continuations.items())
        total = sum(self.continuations.values()) * self.new_tokens
        prompts = counted(self.prompts, "prompt")
        line = f"{self.model}: {prompts}; continuations: {counts}; {counted(total, 'token')}"
        line = f"{line} at most"
        if self.seconds is not None:
            line = f"{line}; about {max(1, round(self.seconds))} s"
        if self.left_out:
            left_out = counted(self.left_out, "prompt is", "prompts are")
            line = f"{line}; {left_out} left out (empty, untitled, or too long for the window)"
        if self.set_aside:
            line = f"{line}\n{set_aside_note('prompts', self.set_aside)}"
        return line


def decoder_settings(decoders: Decoders) -> dict[str, dict[str, Any]]:
    """Decoders by name, each a ``kind`` with its settings.

    Args:
        decoders: kinds of :data:`longform.decoding.decoders.DECODERS`, perhaps with settings and a
            name of one's own: ``delayed_beam``, ``top_k:k=40``, ``wide=beam:beams=30,blocking=3``;
            or a mapping of such settings by name.

    Returns:
        By name, ``kind`` and the settings that were named; defaults are not filled in.

    Raises:
        ConfigError: no decoder, an unknown kind or setting, two decoders with one name, or a name
            that no file can have.
    """
    from longform.decoding.decoders import DECODERS
    from longform.settings import Nothing, parse_kind

    # 1. The decoders by name.
    if isinstance(decoders, Mapping):
        settings = {name: dict(entry) for name, entry in decoders.items()}
    else:
        settings = {}
        for argument in [decoders] if isinstance(decoders, str) else decoders:
            name, entry = _decoder(argument)
            if name in settings:
                raise ConfigError(
                    f"{argument}: two decoders are called {name!r}; name one: NAME={argument}"
                )
            settings[name] = entry
    if not settings:
        raise ConfigError("no decoder is named; `longform decoders` lists them")
    # 2. Whether each kind takes its settings, and a file its name. The parsed settings are not
    # needed here; a decoder has none beside its kind's own (``Nothing``), and errors name the
    # command in place of ``params.yaml``.
    for name, entry in settings.items():
        parse_kind(DECODERS, Nothing, entry, f"decoder {name}", "the command")
        if not _FILE_NAME.fullmatch(name):
            raise ConfigError(
                f"decoder {short_repr(name)}: its texts go to a file of that name; take at most "
                f"{LONGEST_NAME} letters, digits, blanks and _ . + -, and no point first"
            )
    return settings


def _decoder(argument: str) -> tuple[str, dict[str, Any]]:
    """Parse a decoder of the command line, ``[NAME=]KIND[:SETTING=NUMBER,...]``.

    Returns:
        Its name, by default its kind, and its settings with ``kind``.
    """
    head, _, tail = argument.partition(":")
    name, separator, kind = head.partition("=")
    if not separator:
        kind = name
    if not name:
        raise ConfigError(f"{argument!r}: the decoder has no name; write KIND, or NAME=KIND")
    entry: dict[str, Any] = {"kind": kind}
    for setting in filter(None, tail.split(",")):
        key, separator, value = setting.partition("=")
        if not separator:
            raise ConfigError(f"{argument}: {setting!r} is no setting; write it as NAME=NUMBER")
        if key in entry:
            raise ConfigError(f"{argument}: {key!r} stands there twice; keep one")
        entry[key] = _number(value, argument)
    return name, entry


def _number(value: str, argument: str) -> int | float:
    """The number of a setting, an int where it can be. Raises ConfigError: it is no number."""
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError as error:
            raise ConfigError(
                f"{argument}: {value!r} is no number; settings are numbers"
            ) from error


def decoder_listing() -> str:
    """All decoders with their settings, a paragraph each."""
    from longform.decoding.decoders import DECODERS

    paragraphs = []
    for kind, settings in DECODERS.items():
        lines = [f"{kind}  {(settings.__doc__ or '').strip()}"]
        for name, field in settings.model_fields.items():
            lines.append(f"    {name}={field.default}  {field.description}")
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def generate(
    model: str | Path,
    prefixes: Any,
    decoders: Decoders = "delayed_beam",
    *,
    prompt: str = "text",
    new_tokens: int = NEW_TOKENS,
    repeats: int | None = None,
    batch: int = BATCH,
    seed: int = SEED,
    out: str | Path | None = None,
    announce: Callable[[WritingPlan], Any] = lambda plan: print(plan.text(), file=sys.stderr),
) -> Writing:
    """Continue every prompt by every decoder.

    Args:
        model: a name of :mod:`longform.language_models.named_models`.
        prefixes: a list of texts, or a file, folder or other source of texts
            (:mod:`longform.datasets.text_sources`).
        decoders: as for :func:`decoder_settings`.
        prompt: ``text``: each text is a prompt as it stands; ``first_sentence``: the prompt is an
            article's title, a point and its first sentence (massarelli2020 section 5), and the
            decoder ``human`` gives what the article has behind it.
        new_tokens: tokens of a continuation; fewer where blocking leaves no token.
        repeats: continuations of a prompt; by default three where the decoder draws, else one.
        batch: continuations that are written side by side; changes no text.
        seed: of every draw.
        out: folder for a ``.jsonl`` file of each decoder. A run that was stopped goes on from
            there.
        announce: called with the plan before the work.

    Raises BadInput: a model, a text or a setting that cannot be used.
    """
    from longform.decoding.continuations import generate as write_continuations

    # 1. Everything is checked before a network is opened.
    _check_numbers(new_tokens, repeats, batch)
    model_source, texts, settings = _checked(model, prefixes, decoders, prompt)
    documents = texts.documents
    announce(_plan(model_source, texts, settings, new_tokens, repeats))
    # 2. The place of unfinished work, which is this run's alone.
    folder = None if out is None else Path(out)
    scratch = None
    if folder is not None:
        if isinstance(prefixes, str | Path):
            refuse_overwriting([folder / f"{name}.jsonl" for name in settings], [prefixes])
        options = [prompt, new_tokens, repeats, batch, seed]
        records = [document.to_record() for document in documents]
        run = fingerprint([model_source.stamps(), settings, options, *records])
        scratch = unfinished_folder(folder, run)
    # 3. The texts.
    with model_source.opened_folder() as model_folder:
        corpus = write_continuations(
            model=model_folder,
            prefixes=documents,
            name=NAME,
            seed=seed,
            scratch=scratch,
            decoders=settings,
            new_tokens=new_tokens,
            repeats=repeats,
            split=None,
            batch=batch,
            prompt=prompt,
        )
    facts = {
        **corpus.facts,
        "set_aside": list(texts.set_aside),
        "prompt": prompt,
        "seed": seed,
        "longform": __version__,
    }
    writing = Writing(model_source.name, _texts(corpus), facts, folder)
    if folder is not None:
        _save(writing, folder)
    return writing


def plan_writing(
    model: str | Path,
    prefixes: Any,
    decoders: Decoders = "delayed_beam",
    *,
    prompt: str = "text",
    new_tokens: int = NEW_TOKENS,
    repeats: int | None = None,
    batch: int = BATCH,
) -> WritingPlan:
    """What :func:`generate` would write, and for how long: a few tokens are written and timed.

    Raises BadInput: as :func:`generate`, also where no prompt fits the model's window together with
    what is to be written.
    """
    from longform.decoding.continuations import usable_prefixes
    from longform.decoding.timing import seconds_to_write

    _check_numbers(new_tokens, repeats, batch)
    model_source, texts, settings = _checked(model, prefixes, decoders, prompt)
    plan = _plan(model_source, texts, settings, new_tokens, repeats)
    with model_source.opened_folder() as folder:
        usable = usable_prefixes(folder, texts.documents, prompt, new_tokens)
        continuations = {}
        for name, count in plan.continuations.items():
            continuations[name] = count // plan.prompts * usable
        seconds = seconds_to_write(folder, settings, continuations, new_tokens, batch)
    left_out = plan.prompts - usable
    return replace(plan, continuations=continuations, seconds=seconds, left_out=left_out)


Settings = dict[str, dict[str, Any]]


def _check_numbers(new_tokens: int, repeats: int | None, batch: int) -> None:
    """Check three settings. Raises ConfigError: one of them is no whole number from 1."""
    numbers = {"new_tokens": new_tokens, "repeats": repeats, "batch": batch}
    for name, number in numbers.items():
        if name == "repeats" and number is None:
            continue
        if type(number) is not int or number < 1:
            raise ConfigError(f"{name} is {number!r:.60}, allowed is a whole number from 1")


def _checked(
    model: str | Path, prefixes: Any, decoders: Decoders, prompt: str
) -> tuple[NamedModel, Texts, Settings]:
    """Check the arguments of :func:`generate` before a network is opened.

    Returns:
        The model, the prompts, and the settings of each decoder by name.
    """
    model_source = named_model(model)
    settings = decoder_settings(decoders)
    if prompt not in PROMPTS:
        raise ConfigError(f"prompt {prompt!r}; allowed are {list(PROMPTS)}")
    if prompt == "text" and any(entry["kind"] == "human" for entry in settings.values()):
        raise ConfigError(
            "decoder human: nothing follows a prompt that is the whole text; take "
            "--prompt first_sentence"
        )
    if isinstance(prefixes, str | Path):
        return model_source, read_texts(prefixes), settings
    documents = documents_from(prefixes, "generate")
    _refuse_repeated_ids(documents)
    return model_source, Texts(tuple(documents)), settings


def _refuse_repeated_ids(documents: Sequence[Document]) -> None:
    """Check that prompts have distinct ids, which seed their draws.

    Raises InputError: two have one id.
    """
    ids = set[str]()
    for document in documents:
        if document.id in ids:
            raise InputError(
                f"generate: two prompts have the id {document.id!r}; give each an id of its own"
            )
        ids.add(document.id)


def _plan(
    model: NamedModel,
    texts: Texts,
    settings: Settings,
    new_tokens: int,
    repeats: int | None,
) -> WritingPlan:
    """How many continuations each decoder is to write, without their time.

    Args:
        model: writes them.
        texts: the prompts.
        settings: of decoders, by name.
        new_tokens: the most that a continuation has.
        repeats: continuations of a prompt; None for as many as the decoder's kind has by default.
    """
    # These import torch, which the command's other steps do without.
    from longform.decoding.continuations import repeats_of
    from longform.decoding.strategies import settings_of

    num_prompts = len(texts.documents)
    continuations = {}
    for name, decoder in settings.items():
        continuations[name] = num_prompts * repeats_of(settings_of(decoder), repeats)
    return WritingPlan(
        model.name, num_prompts, continuations, new_tokens, set_aside=texts.set_aside
    )


def _texts(corpus: Corpus) -> dict[str, tuple[WrittenText, ...]]:
    """The continuations of a corpus by decoder."""
    rows = Predictions.of(corpus.documents, corpus.truth).rows(
        "setting", "page", "repeat", "token_nats"
    )
    texts: dict[str, list[WrittenText]] = {}
    for document, row in zip(corpus.documents, rows, strict=True):
        _, _, setting, page, repeat, nats = row
        decoder = str(setting)
        unit = f"{page}/{repeat + 1}" if corpus.facts["repeats"][decoder] > 1 else str(page)
        opening = document.sections[0]
        prompt = f"{opening.title}. {opening.text}" if opening.title else opening.text
        texts.setdefault(decoder, []).append(
            WrittenText(
                id=unit,
                decoder=decoder,
                prompt=prompt,
                text=document.sections[1].text,
                tokens=len(nats),
                nats_per_token=-float(nats.mean()) if len(nats) else math.nan,
            )
        )
    return {decoder: tuple(continuations) for decoder, continuations in texts.items()}


def _save(writing: Writing, folder: Path) -> None:
    """Write a file for each decoder and the summary, and remove the unfinished work."""
    for decoder, texts in writing.texts.items():
        records = []
        for text in texts:
            record = asdict(text)
            if math.isnan(text.nats_per_token):
                record["nats_per_token"] = None
            records.append(record)
        with atomic_write(folder / f"{decoder}.jsonl") as partial:
            partial.write_text(json_lines(records), encoding="utf-8")
    write_json(folder / SUMMARY, writing.to_record())
    forget_unfinished(folder)
