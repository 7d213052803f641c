"""Who the systems of a study are, where their files lie, and what the stages of texts hand to what writes them."""

from pathlib import Path

import pytest
import yaml

from longform.decoding import settings as decoding
from longform.documents import Corpus, Document, Section
from longform.files.artefacts import read_documents, write_corpus
from longform.statistics.random_streams import derived_seed
from longform_lab import scratch, texts
from longform_lab.experiment import Experiment, System, chosen_systems
from tests.refusals import refuses

PARAMS = {
    "seed": 7,
    "models": {
        "small": {"kind": "ngrams", "context": 8, "order": 2},
        "own": {
            "kind": "ngrams",
            "context": 8,
            "order": 3,
            "sampling": {
                "kind": "long_documents",
                "documents": 2,
                "batch": 1,
                "max_tokens": 3,
                "context_overlap": None,
            },
        },
    },
    "articles": {
        "corpora": ["wiki", "news"],
        "models": ["small", "own"],
        "titles": ["with", "without"],
        "seeds": 2,
        "once": ["own"],
        "sizes": {"models": ["large"], "corpora": ["news"]},
        "critics": {"perplexity": {"corpora": ["news"]}},
        "decoders": "lists",
        "sampling": {
            "kind": "long_documents",
            "documents": 5,
            "batch": 2,
            "max_tokens": 9,
            "context_overlap": None,
        },
        "training": {
            "context": 8,
            "packing": "documents",
            "schedule": {"learning_rate": 0.1, "batch": 1, "epochs": 1, "validations": 1},
        },
    },
    "plain": {"corpora": ["wiki"], "models": ["small"]},
}


@pytest.fixture(autouse=True)
def no_code_is_read(monkeypatch):
    """The hash of the code that a stage runs takes a second, and is another file's subject."""
    monkeypatch.setattr(scratch, "_code", lambda starts: "code")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    return tmp_path


def changed(folder: Path, **study) -> Experiment:
    """The study ``plain`` with other settings."""
    params = {**PARAMS, "plain": {**PARAMS["plain"], **study}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    return Experiment(folder)


@pytest.mark.parametrize(
    ("system", "folder", "texts", "checkpoint"),
    [
        (System("s", "c"), "data", "corpora/s/c", "models/s/c/data"),
        (System("s", "c", "m"), "m", "generations/s/c/m", "models/s/c/m"),
        (
            System("s", "c", "m", True, 2),
            "m-with_titles-seed_2",
            "generations/s/c/m/with_titles/seed_2",
            "models/s/c/m/with_titles/seed_2",
        ),
        (
            System("s", "c", "m", False),
            "m-without_titles",
            "generations/s/c/m/without_titles",
            "models/s/c/m/without_titles",
        ),
        (System("s", "c", "m", None, 1), "m-seed_1", "generations/s/c/m/seed_1", "models/s/c/m/seed_1"),
    ],
)  # fmt: skip
def test_a_systems_files_are_named_after_its_parts(system, folder, texts, checkpoint):
    assert (system.folder, system.texts, system.checkpoint) == (folder, texts, checkpoint)
    assert system.predictions("bbscore", "x") == f"predictions/s/bbscore/c/{folder}/x.npz"
    assert system.fields == {
        "corpus": "c", "system": system.model, "titles": system.titles, "seed": system.seed
    }  # fmt: skip


def test_systems_stand_by_model_then_titles_then_seed(home):
    experiment = Experiment(home)
    assert [(s.corpus, s.folder) for s in experiment.systems("articles", "news")] == [
        ("news", name)
        for name in (
            "small-with_titles-seed_1", "small-with_titles-seed_2",
            "small-without_titles-seed_1", "small-without_titles-seed_2",
            "own-with_titles-seed_1", "own-without_titles-seed_1",
            "large-with_titles-seed_1", "large-with_titles-seed_2",
            "large-without_titles-seed_1", "large-without_titles-seed_2",
        )
    ]  # fmt: skip
    assert experiment.models("articles", "wiki") == ["small", "own"]
    assert experiment.models("articles", "none") == []
    assert experiment.systems("plain", "wiki") == [System("plain", "wiki", "small")]
    single = changed(home, seeds=2, once=["wiki"]).systems("plain", "wiki")
    assert single == [System("plain", "wiki", "small", None, 1)]


def test_one_models_systems_are_found_by_folder(home):
    every = Experiment(home).of_model("articles", "wiki", "own")
    assert list(every) == ["own-with_titles-seed_1", "own-without_titles-seed_1"]
    assert all(system.folder == name for name, system in every.items())
    name = "own-without_titles-seed_1"
    assert Experiment(home, only=name).of_model("articles", "wiki", "own") == {name: every[name]}
    refuses("articles trains no model 'smal' on 'wiki' \\(near: small\\)",
            Experiment(home).of_model, "articles", "wiki", "smal")  # fmt: skip


def test_a_training_has_a_seed_of_its_own(home):
    experiment = Experiment(home)
    assert experiment.training_seed(System("s", "c", "m")) == 7
    assert experiment.training_seed(System("s", "c", "m", None, 2)) == derived_seed(
        7, "training", 2
    )


def test_corpora_of_a_critic_and_lists_of_decoders_are_looked_up(home):
    assert Experiment(home).corpora_of("articles", "perplexity") == ["news"]
    (home / "lists").mkdir()
    for name in ("b", "a"):
        (home / "lists" / f"{name}.yaml").write_text(f"greedy: {{kind: {name}}}")
    (home / "lists" / "c.txt").write_text("no list")
    lists = Experiment(home).decoders("articles")
    assert list(lists) == ["a", "b"] and lists["b"] == {"greedy": {"kind": "b"}}
    assert Experiment(home).decoders("plain") == Experiment(home).decoders("unknown") == {}


@pytest.mark.parametrize(
    ("study", "sentence"),
    [
        ({"seeds": 0}, "plain.seeds is 0, allowed is a whole number from 1, or none"),
        ({"seeds": True}, "plain.seeds is True"),
        ({"titles": ["both"]}, "plain.titles has 'both', allowed are \\['with', 'without'\\]"),
        ({"models": "small"}, "plain.models is 'small', allowed is a list of names"),
        ({"once": "small"}, "plain.once is 'small', allowed is a list of names"),
        ({"titles": "with"}, "plain.titles is 'with', allowed is a list of names"),
        ({"corpora": {"wiki": 1}}, "plain.corpora is .*, allowed is a list of names"),
    ],
)
def test_a_wrong_list_of_a_study_is_refused(home, study, sentence):
    refuses(sentence, changed(home, **study).systems, "plain", "wiki")


def test_one_seed_is_allowed_and_none_as_well(home):
    assert [s.seed for s in changed(home, seeds=1).systems("plain", "wiki")] == [1]
    assert [s.seed for s in changed(home, seeds=None).systems("plain", "wiki")] == [None]


@pytest.mark.parametrize("name", ["corpora", "models"])
def test_a_list_left_blank_is_an_empty_one(home, name):
    assert changed(home, sizes=None, **{name: None}).models("plain", "wiki") == []


@pytest.mark.parametrize(("seed", "allowed"), [(0, True), (-1, False), (True, False), (1.0, False)])
def test_a_runs_seed_is_a_whole_number_from_0(tmp_path, seed, allowed):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"seed": seed}))
    experiment = Experiment(tmp_path)
    if allowed:
        assert experiment.seed == seed
    else:
        refuses("allowed is a whole number from 0", lambda: experiment.seed)


def test_what_parameters_lack_is_named_with_its_whole_place(home):
    experiment = Experiment(home)
    assert experiment.entry() == PARAMS and experiment.entry("models", "own", "order") == 3
    refuses("has no models.ownn \\(near: own\\)", experiment.entry, "models", "ownn")
    refuses("has no seed.x$", experiment.entry, "seed", "x", "y")
    refuses("seed is 7, allowed is a mapping", experiment.settings, "seed")
    refuses("no such file; --home", lambda: Experiment(home / "none").params)
    (home / "params.yaml").write_text("- 1")
    refuses("not a mapping of settings", lambda: Experiment(home).params)


SYSTEMS = [System("s", "c"), System("s", "c", "small"), System("s", "c", "own")]


@pytest.mark.parametrize(
    ("of", "models"),
    [
        ("all", ["data", "small", "own"]),
        ("models", ["small", "own"]),
        ("data", ["data"]),
        (["own", "data"], ["data", "own"]),
        (["models", "data"], ["data", "small", "own"]),
        ([], []),
    ],
)
def test_systems_are_chosen_by_name_in_their_own_order(of, models):
    assert [system.model for system in chosen_systems(of, SYSTEMS)] == models


def test_a_name_of_no_system_is_refused_with_those_that_are():
    refuses(
        "system 'owl' \\(near: own\\); allowed are \\['all', 'data', 'models', 'own', 'small'\\]",
        lambda: list(chosen_systems("owl", SYSTEMS)),
    )


class Written:
    """Notes what a sampler was given, and writes one text."""

    def __init__(self):
        self.given = []

    def __call__(self, sampler, inputs):
        self.given.append((sampler, inputs))
        text = Document(inputs.name, "test", (Section("abstract", "words"),))
        return Corpus([text])


@pytest.fixture
def written(monkeypatch):
    noted = Written()
    monkeypatch.setattr(decoding.LongDocuments, "write", lambda own, inputs: noted(own, inputs))
    return noted


def corpus_and_models(home, study, *folders):
    document = Document("d", "train", (Section("abstract", "a b"),))
    write_corpus(home / "data" / "corpora" / study / "wiki", Corpus([document]))
    for folder in folders:
        (home / "data" / "models" / folder).mkdir(parents=True)
    return document


def test_every_system_of_a_model_writes_from_its_own_checkpoint(home, written):
    places = [
        f"articles/wiki/small/{t}_titles/seed_{s}" for t in ("with", "without") for s in (1, 2)
    ]
    document = corpus_and_models(home, "articles", *places)
    texts.generate(Experiment(home), "articles", "wiki", "small")
    assert [inputs.model for _, inputs in written.given] == [
        home / "data/models" / p for p in places
    ]
    assert [inputs.titles for _, inputs in written.given] == [True, True, False, False]
    for place, (sampler, inputs) in zip(places, written.given, strict=True):
        name = "wiki-" + "-".join(place.split("/")[2:])
        assert (inputs.name, inputs.seed, inputs.packing) == (name, 7, "documents")
        assert list(inputs.prefixes) == [document]
        assert (sampler.documents, sampler.batch, sampler.max_tokens) == (5, 2, 9)
        (made,) = read_documents(home / "data" / "generations" / place / "documents.jsonl")
        assert made.id == name
    assert not list((home / "scratch").rglob("*.json"))


def test_a_model_with_a_sampler_of_its_own_uses_it(home, written):
    places = [f"articles/wiki/own/{title}_titles/seed_1" for title in ("with", "without")]
    corpus_and_models(home, "articles", *places)
    texts.generate(Experiment(home, "own-with_titles-seed_1"), "articles", "wiki", "own")
    ((sampler, _),) = written.given
    assert (sampler.documents, sampler.batch, sampler.max_tokens) == (2, 1, 3)
    kept = list((home / "scratch").rglob("finished/documents.jsonl"))
    assert len(kept) == 1  # the stage may still have to bring it back
    texts.generate(Experiment(home), "articles", "wiki", "own")
    assert [inputs.titles for _, inputs in written.given] == [True, False]
    assert not list((home / "scratch").rglob("finished"))


def test_a_study_without_training_or_titles_packs_nothing(home, written):
    changed(home, sampling=PARAMS["articles"]["sampling"])
    corpus_and_models(home, "plain", "plain/wiki/small")
    texts.generate(Experiment(home), "plain", "wiki", "small")
    ((_, inputs),) = written.given
    assert (inputs.packing, inputs.titles, inputs.name) == (None, False, "wiki-small")
    assert (home / "data/generations/plain/wiki/small/documents.jsonl").is_file()


def test_a_corpus_is_built_with_its_name_and_seed_in_its_studys_folder(home, monkeypatch):
    from synthetic_world.settings import WorldTexts

    given = {}

    def build(own, *, name, seed, scratch):
        given.update(name=name, seed=seed, scratch=scratch)
        return Corpus([Document("x", "test", (Section(None, "words"),))], {}, {"note": 1})

    monkeypatch.setattr(WorldTexts, "build", build)
    entry = {"kind": "world_texts", "study": "st", "domain": "wiki", "documents": {"test": 1}}
    params = {**PARAMS, "corpora": {"made": entry}}
    (home / "params.yaml").write_text(yaml.safe_dump(params))
    texts.corpus(Experiment(home), "made")
    folder = home / "data" / "corpora" / "st" / "made"
    assert [document.id for document in read_documents(folder / "documents.jsonl")] == ["x"]
    assert given == {"name": "made", "seed": 7, "scratch": home / "scratch" / "corpora.made"}
    assert not given["scratch"].exists()


def files_entry(home, **changes):
    entry = {"kind": "documents", "study": "st", "source": "raw/texts.jsonl", **changes}
    params = {**PARAMS, "corpora": {}, "corpora_from_files": {"read": entry}}
    (home / "params.yaml").write_text(yaml.safe_dump(params))
    (home / "data" / "raw").mkdir(parents=True)
    (home / "data" / "raw" / "texts.jsonl").write_text(
        '{"id": "x", "sections": [{"text": "words"}]}\n'
    )
    return Experiment(home)


def test_a_corpus_from_files_is_read_from_below_data(home, monkeypatch):
    from longform.datasets.settings import Documents

    given = {}
    load = Documents.load

    def noted(own, raw, **more):
        given.update(raw=raw, **more)
        return load(own, raw, **more)

    monkeypatch.setattr(Documents, "load", noted)
    texts.corpus(files_entry(home), "read")
    assert (given["raw"], given["name"], given["seed"]) == (
        home / "data/raw/texts.jsonl",
        "read",
        7,
    )
    assert given["beside"] is None
    (made,) = read_documents(home / "data/corpora/st/read/documents.jsonl")
    assert (made.id, made.text) == ("x", "words")


def test_a_kind_that_reads_one_file_takes_none_beside(home):
    experiment = files_entry(home, beside="raw/more.jsonl")
    refuses(
        "^corpora_from_files.read has 'beside', and documents reads one file",
        texts.corpus, experiment, "read",
    )  # fmt: skip


def test_continuations_are_decoded_with_the_list_that_the_run_names(home, monkeypatch):
    given = {}

    def decode(own, model, prefixes, decoders, **more):
        given.update(own=own, model=model, prefixes=prefixes, decoders=decoders, **more)
        return Corpus([Document("x", "generated", (Section(None, "words"),))])

    monkeypatch.setattr(decoding.Continuations, "decode", decode)
    sampling = {"new_tokens": 5, "repeats": 1, "split": "test", "documents": 1, "batch": 1}
    required = {
        name for name, field in decoding.Continuations.model_fields.items() if field.is_required()
    }
    facts = {
        "decoders": "lists",
        "sampling": {**sampling, "prefixes": "corpora/articles/wiki"},
        "runs": {"sweep": {"model": "news/tiny", "decoders": "grid", "new_tokens": 6}},
    }
    assert required <= {*facts["sampling"], *facts["runs"]["sweep"]}
    (home / "params.yaml").write_text(yaml.safe_dump({**PARAMS, "facts": facts}))
    (home / "lists").mkdir()
    (home / "lists" / "grid.yaml").write_text("wide: {kind: beam, beams: 4}")
    document = corpus_and_models(home, "articles", "decoding/news/tiny")
    texts.decode(Experiment(home), "facts", "sweep")
    assert given["model"] == home / "data/models/decoding/news/tiny"
    assert given["decoders"] == {"wide": {"kind": "beam", "beams": 4}}
    assert (given["name"], given["seed"], given["prefixes"]) == ("sweep", 7, [document])
    assert (given["own"].new_tokens, given["own"].repeats) == (6, 1)
    (made,) = read_documents(home / "data/generations/facts/sweep/documents.jsonl")
    assert made.id == "x"
    facts["runs"]["sweep"]["decoders"] = "grip"
    (home / "params.yaml").write_text(yaml.safe_dump({**PARAMS, "facts": facts}))
    refuses(
        r"^facts.runs.sweep: there is no list of decoders 'grip' \(near: grid\); allowed are \['grid'\], "
        "the files of lists",
        texts.decode, Experiment(home), "facts", "sweep",
    )  # fmt: skip


def test_completions_of_a_larger_model_join_those_of_a_smaller_one(home, monkeypatch):
    given = []

    def complete(own, model, documents, *, name, seed, scratch):
        given.append((own.model, model, [d.id for d in documents], name, seed))
        assert scratch.is_dir()
        more = Document(name, "generated", (Section(None, "words"),))
        return Corpus([*documents, more])

    monkeypatch.setattr(decoding.Completions, "complete", complete)
    own = {
        name: 1 for name, field in decoding.Completions.model_fields.items() if field.is_required()
    }
    own |= {
        "sources": {"large": "greedy"},
        "splitter": "rules",
        "documents": {"test": 1},
        "prompt_sentences": 1,
    }
    own = {name: value for name, value in own.items() if name in decoding.Completions.model_fields}
    study = {part: {**own, "model": f"models/{part}"} for part in ("larger", "smaller")}
    (home / "params.yaml").write_text(yaml.safe_dump({**PARAMS, "sources": study}))
    corpus_and_models(home, "articles", "larger", "smaller")
    texts.complete(Experiment(home), "sources", "wiki")
    assert given == [
        ("models/larger", home / "data/models/larger", ["d"], "larger", 7),
        ("models/smaller", home / "data/models/smaller", ["d", "larger"], "smaller", 7),
    ]
    folder = home / "data/corpora/sources"
    made = read_documents(folder / "wiki" / "documents.jsonl")
    assert [document.id for document in made] == ["d", "larger", "smaller"]
    assert sorted(path.name for path in folder.iterdir()) == ["wiki"]
    assert not list((home / "scratch").rglob("begun.json"))
