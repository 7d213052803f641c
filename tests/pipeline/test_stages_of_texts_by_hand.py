"""What the stages that make texts read, pass on and write, with stand-ins for models and corpora."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from longform_lab import texts
from longform_lab.experiment import System
from tests.refusals import refuses

SYSTEMS = [System("s", "wiki", "gpt2", titles) for titles in (True, False)]


class Study:
    """An experiment with the parameters that are given."""

    seed, only = 5, None

    def __init__(self, folder, params):
        self.data, self.home, self.params = folder / "data", folder, params

    def settings(self, *keys):
        value = self.params
        for key in keys:
            value = value[key]
        return value

    entry = settings

    def documents(self, system):
        return [f"documents of {system.corpus}"]

    def of_model(self, study, corpus, model):
        return {system.folder: system for system in SYSTEMS}

    def training_seed(self, system):
        return 40 + bool(system.titles)

    def decoders(self, study):
        return {"four": {"a": {"kind": "x"}, "b": {"kind": "y"}}, "none": {}}


@pytest.fixture
def works(monkeypatch, tmp_path):
    """Scratch folders that stand for resumable ones, with what each was made for."""
    made = []

    @contextmanager
    def resumable(experiment, name, settings, *inputs):
        made.append((name, settings, inputs))
        scratch = tmp_path / "scratch" / str(len(made))
        scratch.mkdir(parents=True)
        yield scratch

    monkeypatch.setattr(texts, "resumable", resumable)
    monkeypatch.setattr(
        texts, "side_by_side", lambda work, items: [work(item) for item in items.values()]
    )
    return made


@pytest.fixture
def parsed(monkeypatch):
    """Settings stand as they are; the kind of an entry is what was registered."""
    keys = []

    def parse_kind(registry, placement, entry, key, *file):
        keys.append((key, *file))
        return entry.get("placed"), entry.get("settings", entry)

    monkeypatch.setattr(texts, "parse_kind", parse_kind)
    monkeypatch.setattr(texts, "parse", lambda kind, entry, key: keys.append((key,)) or entry)
    return keys


def test_a_corpus_is_made_from_the_seed_or_read_from_files(
    works, parsed, tmp_path, monkeypatch, capsys
):
    written, calls = [], []
    monkeypatch.setattr(
        texts, "write_corpus", lambda folder, corpus: written.append((folder, corpus)) or 3
    )

    class Dataset:
        reads_beside = True

        def build(self, **given):
            calls.append(given)
            return "built"

        def load(self, raw, **given):
            calls.append((raw, given))
            return "loaded"

    dataset = Dataset()
    made = {"placed": SimpleNamespace(study="s"), "settings": dataset}
    beside = SimpleNamespace(study="t", source="raw/b", beside="raw/c")
    files = {"b": {"kind": "k", "placed": beside, "settings": dataset},
             "d": {"kind": "k", "placed": SimpleNamespace(study="t", source="raw/d", beside=None), "settings": dataset}}  # fmt: skip
    study = Study(tmp_path, {"corpora": {"a": made}, "corpora_from_files": files})
    for name in "abd":
        texts.corpus(study, name)
    data = study.data
    assert written == [
        (data / "corpora/s/a", "built"), (data / "corpora/t/b", "loaded"), (data / "corpora/t/d", "loaded"),
    ]  # fmt: skip
    scratch = [tmp_path / "scratch" / str(number) for number in (1, 2, 3)]
    assert calls[0] == {"name": "a", "seed": 5, "scratch": scratch[0]}
    told = {"name": "b", "seed": 5, "scratch": scratch[1], "beside": data / "raw/c"}
    assert calls[1] == (data / "raw/b", told) and calls[2][1]["beside"] is None
    assert works == [
        ("corpora.a", [dataset], ()),
        ("corpora_from_files.b", [dataset], (data / "raw/b", data / "raw/c")),
        ("corpora_from_files.d", [dataset], (data / "raw/d",)),
    ]
    assert parsed == [("corpora.a",), ("corpora_from_files.b",), ("corpora_from_files.d",)]
    assert capsys.readouterr().out.splitlines()[0] == "corpus a: 3 documents"
    Dataset.reads_beside = False
    refuses("corpora_from_files.b has 'beside', and k reads one file", texts.corpus, study, "b")
    monkeypatch.setattr(texts, "first_process", lambda: False)
    texts.corpus(study, "a")
    assert len(written) == 3


def test_a_tokenizer_reads_all_corpora_of_its_study(parsed, tmp_path):
    fitted = []

    def fit(documents, data):
        fitted.append((documents, data))
        return SimpleNamespace(save=lambda folder: (folder / "t").write_text("saved"))

    params = {"s": {"tokenizer": {"settings": SimpleNamespace(fit=fit)}, "corpora": ["a", "b"]}}
    study = Study(tmp_path, params)
    texts.tokenizer(study, "s")
    assert fitted == [(["documents of a", "documents of b"], study.data)]
    assert (study.data / "tokenizers/s/t").read_text() == "saved"


class Model:
    """Settings of a model that keep what it was trained with."""

    def __init__(self, bases=None, start="base"):
        self.given, self.asked, self.its_bases, self.its_start = [], [], bases, start

    def start(self, tokenizer, published):
        self.asked.append((tokenizer, published))
        return self.its_start and tokenizer / self.its_start

    def bases(self, training):
        self.asked.append(training)
        return self.its_bases

    def train(self, inputs):
        self.given.append(inputs)
        return SimpleNamespace(save=lambda folder: (folder / "m").write_text(inputs.name))


@pytest.fixture
def finished(monkeypatch):
    """What was kept, forgotten and brought back."""
    calls = {"kept": [], "forgotten": [], "back": set()}
    monkeypatch.setattr(
        texts, "keep_finished", lambda scratch, result: calls["kept"].append(result)
    )
    monkeypatch.setattr(
        texts, "forget_finished", lambda experiment, names: calls["forgotten"].append(names)
    )
    monkeypatch.setattr(texts, "bring_back", lambda scratch, result: result.name in calls["back"])
    return calls


@pytest.mark.parametrize(
    ("bases", "start", "training"), [(None, None, None), ("models/base", "base", "how")]
)
def test_each_system_of_a_model_is_trained_with_its_own_seed(
    bases, start, training, works, parsed, finished, tmp_path
):
    model = Model(bases, start)
    params = {
        "models": {"gpt2": {"settings": model}},
        "s": {"training": training} if training else {},
    }
    study = Study(tmp_path, params)
    texts.language_model(study, "s", "wiki", "gpt2")
    data = study.data
    base = data / "tokenizers/s/base" if start else None
    assert model.asked == [(data / "tokenizers/s", tmp_path / "scratch/published/gpt2"), training]
    folders = [
        data / "corpora/s/wiki",
        *([base] if base else []),
        *([data / bases] if bases else []),
    ]
    settings = [model, training] if training else [model]
    names = [f"language_model s wiki {system.folder}" for system in SYSTEMS]
    assert works == [(name, settings, tuple(folders)) for name in names]
    assert [
        (one.name, one.titles, one.seed, one.base, one.bases, one.training) for one in model.given
    ] == [
        (
            f"wiki-{system.folder}",
            system.titles,
            40 + system.titles,
            base,
            data / bases if bases else None,
            training,
        )
        for system in SYSTEMS
    ]
    assert model.given[0].documents == ["documents of wiki"]
    results = [data / system.checkpoint for system in SYSTEMS]
    assert finished["kept"] == results and finished["forgotten"] == [names]
    assert (results[1] / "m").read_text() == "wiki-gpt2-without_titles"


def test_what_was_finished_is_brought_back_and_one_system_forgets_nothing(
    works, parsed, finished, tmp_path, capsys
):
    model = Model()
    study = Study(tmp_path, {"models": {"gpt2": {"settings": model}}, "s": {}})
    study.only = "gpt2-with_titles"
    finished["back"] = {"with_titles"}
    texts.language_model(study, "s", "wiki", "gpt2")
    assert [one.titles for one in model.given] == [False] and finished["forgotten"] == []
    said = "language_model s wiki gpt2-with_titles: was finished before\n"
    assert capsys.readouterr().out == said and len(finished["kept"]) == 1


def test_only_the_first_process_keeps_a_model(works, parsed, finished, tmp_path, monkeypatch):
    model = Model()
    monkeypatch.setattr(texts, "first_process", lambda: False)
    texts.language_model(
        Study(tmp_path, {"models": {"gpt2": {"settings": model}}, "s": {}}), "s", "wiki", "gpt2"
    )
    assert len(model.given) == 2 and finished["kept"] == []


@pytest.mark.parametrize(("own", "packing"), [(True, "stream"), (False, None)])
def test_texts_are_written_by_the_models_sampler_or_the_studys(
    own, packing, works, parsed, finished, tmp_path, monkeypatch, capsys
):
    given, written = [], []
    monkeypatch.setattr(
        texts, "write_corpus", lambda folder, corpus: written.append((folder, corpus)) or 7
    )
    samplers = {
        name: {
            "settings": SimpleNamespace(
                write=lambda inputs, name=name: given.append((name, inputs)) or "texts"
            )
        }
        for name in ("own", "shared")
    }
    training = {"training": SimpleNamespace(packing=packing)} if packing else {}
    params = {
        "models": {"gpt2": {"sampling": samplers["own"]} if own else {}},
        "s": {"sampling": samplers["shared"], **training},
    }
    study = Study(tmp_path, params)
    texts.generate(study, "s", "wiki", "gpt2")
    data = study.data
    assert [name for name, _ in given] == ["own" if own else "shared"] * 2
    first = given[0][1]
    assert (first.model, first.packing, first.seed) == (data / SYSTEMS[0].checkpoint, packing, 5)
    assert (first.name, first.titles, first.prefixes) == (
        "wiki-gpt2-with_titles",
        True,
        ["documents of wiki"],
    )
    assert given[1][1].titles is False
    assert written == [(data / system.texts, "texts") for system in SYSTEMS]
    sampler = samplers["own" if own else "shared"]["settings"]
    names = [f"generate s wiki {system.folder}" for system in SYSTEMS]
    assert works == [
        (name, [sampler], (data / system.checkpoint, data / "corpora/s/wiki"))
        for name, system in zip(names, SYSTEMS, strict=True)
    ]
    assert finished["kept"] == [data / system.texts for system in SYSTEMS]
    assert finished["forgotten"] == [names]
    assert capsys.readouterr().out.splitlines()[1] == f"{names[1]}: 7 documents"
    assert ("models.gpt2.sampling" if own else "s.sampling") in [key for key, *_ in parsed]


def test_the_smaller_model_completes_what_the_larger_one_did(works, parsed, tmp_path, monkeypatch):
    calls, written = [], []

    def completing(name):
        def complete(model, documents, **given):
            calls.append((name, model, documents, given))
            return f"by {name}"

        return SimpleNamespace(model=f"models/{name}", complete=complete)

    def write(folder, corpus):
        written.append((folder, corpus))
        folder.mkdir(parents=True)

    monkeypatch.setattr(texts, "read_documents", lambda path: path)
    monkeypatch.setattr(texts, "write_corpus", write)
    params = {"s": {"larger": completing("larger"), "smaller": completing("smaller")}}
    study = Study(tmp_path, params)
    texts.complete(study, "s", "wiki")
    folder = study.data / "corpora/s"
    wiki = study.data / "corpora/articles/wiki"
    assert written == [(folder / "half", "by larger"), (folder / "wiki", "by smaller")]
    assert [(name, model, documents) for name, model, documents, _ in calls] == [
        ("larger", study.data / "models/larger", wiki / "documents.jsonl"),
        ("smaller", study.data / "models/smaller", folder / "half" / "documents.jsonl"),
    ]
    assert calls[1][3] == {"name": "smaller", "seed": 5, "scratch": tmp_path / "scratch/2"}
    assert works[1] == (
        "complete s smaller", [params["s"]["smaller"]], (study.data / "models/smaller", folder / "half"),
    )  # fmt: skip
    assert not (folder / "half").exists() and (folder / "wiki").is_dir()


class Run(dict):
    """Settings of a run of continuations, by name or as attributes."""

    __getattr__ = dict.__getitem__


def test_a_run_decodes_by_the_list_that_it_names(works, parsed, tmp_path, monkeypatch, capsys):
    calls, written = [], []

    def decode(model, documents, decoders, **given):
        calls.append((model, documents, decoders, given))
        return "continued"

    monkeypatch.setattr(texts, "read_documents", lambda path: path)
    monkeypatch.setattr(
        texts, "write_corpus", lambda folder, corpus: written.append((folder, corpus)) or 9
    )
    monkeypatch.setattr(texts, "parse", lambda kind, entry, key: Run(entry, key=key))
    runs = {"first": {"decoders": "four", "model": "big"}, "lost": {"decoders": "fuor"}}
    sampling = {"decode": decode, "model": "small", "prefixes": "corpora/x"}
    study = Study(tmp_path, {"s": {"sampling": sampling, "runs": runs, "decoders": "the folder"}})
    texts.decode(study, "s", "first")
    prefixes = study.data / "corpora/x"
    model = study.data / "models/decoding/big"
    told = {"name": "first", "seed": 5, "scratch": tmp_path / "scratch/1"}
    decoders = study.decoders("s")["four"]
    assert calls == [(model, prefixes / "documents.jsonl", decoders, told)]
    name, settings, inputs = works[0]
    assert (name, inputs) == ("decode s first", (model, prefixes))
    assert settings[0].key == "s.runs.first" and settings[1:] == [{"kind": "x"}, {"kind": "y"}]
    where = "the list of decoders"
    assert parsed == [("four.a", where), ("four.b", where)]
    assert written == [(study.data / "generations/s/first", "continued")]
    assert capsys.readouterr().out == "decode s first: 9 documents\n"
    sentence = r"s.runs.lost: there is no list of decoders 'fuor'.*four.*the files of the folder"
    refuses(sentence, texts.decode, study, "s", "lost")


def test_a_training_is_read_where_a_study_has_one(parsed, tmp_path):
    study = Study(tmp_path, {"s": {"training": "how"}, "t": {}})
    assert texts._training(study, "s") == "how" and texts._training(study, "t") is None
    assert parsed == [("s.training",)]
    assert Path(texts.FROM_FILES).name == "corpora_from_files"
