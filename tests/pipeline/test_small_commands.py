"""Commands and helpers around the stages, by themselves: the cache's hashes, arguments of stages, mirrors, what reports show."""

import hashlib
import importlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from longform.language_models import tracking as mirrored
from longform.results import Record, write_results
from longform_lab import reports, stages, tracking, verify_cache
from longform_lab.experiment import Experiment


@pytest.fixture
def cache(tmp_path):
    """Two sound files, a damaged one and a damaged folder, beside what DVC did not name."""
    for number, content in enumerate((b"one", b"two", b"three", b"four")):
        name = hashlib.md5(content).hexdigest()
        suffix = ".dir" if number == 3 else ""
        path = tmp_path / "files" / "md5" / name[:2] / (name[2:] + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if number < 2 else content + b"!")
    (tmp_path / "files" / "md5" / "ab").mkdir(exist_ok=True)
    (tmp_path / "files" / "md5" / "ab" / "notes.txt").write_text("mine")
    return tmp_path


def test_files_whose_bytes_are_not_their_names_are_damaged(cache, capsys):
    files = verify_cache.cached_files(cache)
    assert len(files) == 4 and files == sorted(files)
    faults = dict(verify_cache.faulty_files(files))
    damaged = list(faults)
    assert set(faults.values()) == {"damaged"}
    expected = {hashlib.md5(content).hexdigest()[2:] for content in (b"three", b"four")}
    assert {path.name.removesuffix(".dir") for path in damaged} == expected
    assert verify_cache.main([str(cache)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "4 files, 2 damaged; --remove takes them out of the cache"
    assert out[:-1] == [f"damaged: {path}" for path in damaged]
    elsewhere = cache / "linked"
    os.link(damaged[0], elsewhere)  # as DVC links from the cache
    elsewhere.chmod(0o444)
    assert verify_cache.main([str(cache), "--remove"]) == 1
    assert elsewhere.stat().st_mode & 0o777 == 0o644
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"damaged, removed: {damaged[0]}" and "run `make repro`" in out[-1]
    assert verify_cache.main([str(cache)]) == 0
    assert capsys.readouterr().out == "2 files, 0 damaged\n"


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_read(cache, capsys, monkeypatch):
    first, *others = verify_cache.cached_files(cache)
    sound_or_not = dict(verify_cache.faulty_files(others))
    opened = Path.open

    def on_a_bad_disk(path, *given):
        if path == first:
            raise OSError(5, "Input/output error", str(path))
        return opened(path, *given)

    monkeypatch.setattr(Path, "open", on_a_bad_disk)
    assert verify_cache.main([str(cache), "--remove"]) == 1 and first.exists()
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"cannot be read (Input/output error): {first}"
    assert out[1:-1] == [f"damaged, removed: {path}" for path in sound_or_not]
    count = len(sound_or_not)
    assert out[-1].startswith(f"4 files, {count} damaged, 1 that cannot be read; run `make repro`")


@pytest.fixture
def asked(monkeypatch):
    """What a stage was run with, in place of its work."""
    calls = []

    def corpus(experiment, name):
        calls.append((experiment.home.name, experiment.only, name))

    monkeypatch.setattr("longform_lab.texts.corpus", corpus)
    monkeypatch.setattr(stages, "track", lambda: calls.append("tracked"))
    monkeypatch.setattr(stages, "keep_freed_memory", lambda: calls.append("kept"))
    return calls


def test_a_stage_takes_its_names_home_and_system(asked, capsys):
    assert stages.main(["corpus", "wiki", "--home", "there", "--only", "one"]) == 0
    assert stages.main(["corpus", "wiki"]) == 0
    steps = ["kept", "tracked"]
    assert asked == [*steps, ("there", "one", "wiki"), *steps, ("", None, "wiki")]
    for names in ([], ["wiki", "more"]):
        assert stages.main(["corpus", *names]) == 2
        assert capsys.readouterr().err == f"longform: corpus takes NAME, got {names}\n"


def test_trainings_are_mirrored_once_and_named_after_their_stage(monkeypatch):
    monkeypatch.setattr(tracking, "mirrors", mirrors := [])
    monkeypatch.setattr(os, "environ", {"DVC_STAGE": "train@x"})
    tracking.track()
    tracking.track()
    assert mirrors == [tracking.wandb_run] and os.environ["LONGFORM_STAGE"] == "train@x"
    monkeypatch.setattr(os, "environ", {})
    tracking.track()
    assert os.environ == {} and isinstance(mirrored.mirrors, list)


def test_nothing_is_mirrored_where_it_is_disabled_or_not_installed(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert tracking.wandb_run("n", tmp_path / "s", []) == [] and capsys.readouterr().out == ""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    assert tracking.wandb_run("n", tmp_path / "s", []) == []
    assert capsys.readouterr().out.startswith("n: wandb is not installed, so only the CSV log")
    assert not (tmp_path / "s").exists()


def test_a_training_is_mirrored_by_name_and_group_under_its_scale(monkeypatch, tmp_path):
    importlib.import_module("pytorch_lightning.loggers")  # which sets variables of its own
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", variables := {})
    monkeypatch.setattr(tracking, "find_spec", lambda name: name)
    monkeypatch.setattr(
        "pytorch_lightning.loggers.WandbLogger",
        lambda **given: SimpleNamespace(experiment=1, **given),
    )
    (mirror,) = tracking.wandb_run("wiki/x-y", Path("a/b"), ["t"])
    run = Path("a/b/wandb_id.txt").read_text()
    settings = {
        "experiment": 1, "id": run, "save_dir": "wandb", "name": "wiki/x-y", "tags": ["t"],
        "group": "wiki", "project": "longform", "resume": "allow"}  # fmt: skip
    assert vars(mirror) == settings and len(run) == 12 and Path("wandb").is_dir()
    assert variables == {"WANDB_SILENT": "true", "WANDB__SERVICE_WAIT": "120"}
    Path("scale.json").write_text('{"scale": "s"}')
    (again,) = tracking.wandb_run("wiki/x-y", Path("a/b"), ["t"])
    of_scale = {"name": "s/wiki/x-y", "group": "s/wiki", "config": {"scale": "s"}}
    assert vars(again) == {**settings, **of_scale}


PARAMS = {
    "scale": "smoke",
    "articles": {"models": ["a", "b"], "sizes": {"models": ["c"]}},
    "plain": {"models": ["d"]},
}


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    return Experiment(tmp_path)


@pytest.mark.parametrize(
    ("system", "shown"),
    [
        (["data", "articles.models"], ["data", "a", "b", "c"]),
        (["articles.sizes", "c", "x"], ["c", "x"]),
        (["plain.models", "plain.sizes"], ["d"]),
        ("articles.models", ["a", "b", "c"]),
        ("gpt2", "gpt2"),
        ([], []),
    ],
)
def test_an_exhibit_shows_the_models_of_a_study(experiment, system, shown):
    choice = reports._with_models(experiment, {"system": system, "corpus": "wiki"})
    assert choice == {"system": shown, "corpus": "wiki"}
    assert reports._with_models(experiment, {"corpus": "wiki"}) == {"corpus": "wiki"}


def test_scores_are_read_by_critic_or_study_and_the_scale_has_a_name(experiment, tmp_path):
    for study, critic in (("a", "x"), ("a", "y"), ("b", "z")):
        write_results(tmp_path / f"data/scores/{study}/{critic}.json", [Record(critic, "m")])
    found = reports.scores(experiment, ["b", "a/y"])
    assert [record.critic for record in found] == ["z", "y"]
    assert [record.critic for record in reports.scores(experiment, ["a"])] == ["x", "y"]
    assert reports.scale_of(experiment) == "smoke"
    (tmp_path / "params.yaml").write_text("seed: 1")
    assert reports.scale_of(Experiment(tmp_path)) == "default"


@pytest.mark.parametrize(
    ("status", "ending"),
    [(-2, KeyboardInterrupt), (130, KeyboardInterrupt), (0, None), (3, "exit status 3: last (all of it: "),
     (-9, "killed (SIGKILL): last (all of it: "), (126, "exit status 126")],
)  # fmt: skip
def test_how_a_stage_ended_is_said(status, ending, tmp_path):
    from types import SimpleNamespace

    from longform.errors import BadInput
    from longform_lab.repro import Run
    from longform_lab.workers import Finished

    run, stage = object.__new__(Run), SimpleNamespace(name="s")
    run.folders = {id(stage): tmp_path}
    run._log = lambda stage: tmp_path / "s.log"
    result = Finished(status, 1.0, ("first", "last"))
    if ending is None:
        assert run._raise_if_failed(stage, result) is None
    elif ending is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            run._raise_if_failed(stage, result)
    else:
        with pytest.raises(BadInput) as error:
            run._raise_if_failed(stage, result)
        assert str(error.value).startswith(ending)
    with pytest.raises(BadInput, match="its worker was lost \\(OSError: gone\\)"):
        run._raise_if_failed(stage, OSError("gone"))
    with pytest.raises(BadInput, match="exit status 1: it said nothing"):
        run._raise_if_failed(stage, Finished(1, 1.0, ()))


def test_shuffles_that_an_entry_names_are_drawn_for_its_question(monkeypatch):
    from types import SimpleNamespace

    from longform.text.permutations import ShuffleTask
    from longform_lab import score_entries

    asked = []

    def noted(scorers, documents, tasks, **named):
        asked.append((scorers, documents, tasks, named))
        return ["record"]

    monkeypatch.setattr(score_entries, "order_discrimination", noted)
    placed = SimpleNamespace(tasks=[("block", 2), ("window", 3)], tolerance=0.0)
    entry = SimpleNamespace(placed=placed, name="grid_wiki")
    inputs = SimpleNamespace(metric="metric", train=["t"], test=["u"])
    assert score_entries._orders_preferred(entry, inputs, "wiki", "wiki") == ["record"]
    tasks = [ShuffleTask("block", (2,)), ShuffleTask("window", (3,))]
    assert asked == [({"grid": "metric"}, ["u"], tasks, {"train": ["t"]})]


def test_permutations_are_told_apart_within_the_entrys_tolerance(monkeypatch):
    """A metric learns them where training texts have some, too, of the corpus that is judged."""
    from types import SimpleNamespace

    from longform.documents import Chain
    from longform.text.permutations import permuted_documents
    from longform_lab import score_entries

    asked = []
    monkeypatch.setattr(
        score_entries, "order_discrimination", lambda *given, **named: asked.append((given, named))
    )
    entry = SimpleNamespace(placed=SimpleNamespace(tasks=None, tolerance=0.25), name="grid_wiki")
    texts, plain, pairs = (
        [Chain(name, split, ("a", "b")) for name in names]
        for split, names in (("test", ["u", "u/block_1/0"]), ("train", ["t"]), ("train", ["t", "t/block_1/0"]))
    )  # fmt: skip

    def fitted(units):
        return "fitted", units

    test = permuted_documents(texts)
    for train, corpus, scorer, learnt in (
        (plain, "wiki", ("fitted", plain), []), (pairs, "wiki", "metric", permuted_documents(pairs)),
        (pairs, "other", ("fitted", pairs), []),
    ):  # fmt: skip
        inputs = SimpleNamespace(metric="metric", train=train, test=texts, fitted=fitted)
        score_entries._orders_preferred(entry, inputs, "wiki", corpus)
        assert asked.pop() == (
            ({"grid_wiki": scorer}, test), {"train": learnt, "tolerance": 0.25}
        )  # fmt: skip


def test_values_of_texts_are_of_a_metric_that_learns_from_originals(monkeypatch):
    from types import SimpleNamespace

    from longform_lab import score_entries

    train = [SimpleNamespace(unit_id=name) for name in ("t", "t/block_1/0", "s")]
    texts = [SimpleNamespace(unit_id=name) for name in ("a", "b", "c")]
    learnt, scored = [], []
    inputs = SimpleNamespace(
        train=train, texts=texts, fitted=lambda units: learnt.extend(units) or SimpleNamespace(better="lower")
    )  # fmt: skip
    values = [1.5, float("nan"), float("-inf")]
    monkeypatch.setattr(
        score_entries, "unit_scores", lambda *given: scored.append(given[1]) or values
    )
    monkeypatch.setattr(score_entries, "signature", lambda metric: "signed")
    made = score_entries._values_of_texts(SimpleNamespace(critic="c", name="n"), inputs)
    assert learnt == [train[0], train[2]] and scored == [texts]
    details = {"unit_ids": ["a", "b", "c"], "values": [1.5, None, None]}
    assert made == Record(
        "c", "text_values", task="n", better="lower", signature="signed", units=1, excluded=2, details=details
    )  # fmt: skip


def test_pages_are_cut_by_the_splitter_that_is_asked_for(monkeypatch, tmp_path):
    from longform.datasets import encyclopedia
    from longform.documents import Corpus, Document, Section

    given = []

    def build(**named):
        given.append(named)
        texts = ("Ulm is a town.", "It rains.")
        return Corpus(
            [Document(f"d{i}", "test", (Section("x", t),)) for i, t in enumerate(texts)],
            facts={"n": 2},
        )

    monkeypatch.setattr(encyclopedia.wikisection, "build", build)
    shares = {"test": 1.0}
    made = encyclopedia.pages(name="n", seed=3, raw=tmp_path, shares=shares, splitter="full_stops")
    assert given == [
        {"name": "n", "seed": 3, "raw": tmp_path, "shares": shares, "splitter": "full_stops"}
    ]
    assert [d.sections for d in made.documents] == [(Section("Ulm", "Ulm is a town."),)]
    assert made.facts == {"n": 2, "unnamed": 1}


def test_a_mixture_says_in_its_facts_what_it_holds():
    from synthetic_world.corpora import mixture

    made = mixture(name="n", seed=1, counts={"stories": {"train": 1, "test": 1}})
    assert made.truth == {} and len(made.documents) == 2
    assert made.facts == {"planted": True, "documents": {"stories": {"train": 1, "test": 1}}}


def test_features_of_transitions_are_named_by_class_and_roles():
    from itertools import product

    from longform.critics.entity_grid.score import ROLES, TransitionFeatures

    made = TransitionFeatures(lengths=(1, 2), salience=True)
    own = ["".join(roles) for length in (1, 2) for roles in product(ROLES, repeat=length)]
    assert made.names() == [f"salient {one}" for one in own] + [f"other {one}" for one in own]
    assert len(made.names()) == made.size == 2 * (4 + 16)
    plain = TransitionFeatures(lengths=(2,), salience=False)
    assert plain.names() == own[4:] and plain.size == 16


def test_the_ledger_has_the_claims_and_numbers_of_each_paper_in_order(monkeypatch, tmp_path):
    for name in ("b", "a", "none"):
        (tmp_path / "papers" / name).mkdir(parents=True)
    for name in "ba":
        (tmp_path / "papers" / name / "expected.yaml").write_text("")

    def read_expected(folder, scale):
        def noted(what):
            return lambda results, data: [f"{what} {folder.name} {scale}: {results}, {data.name}"]

        return SimpleNamespace(paper=folder.name, judged=noted("claims"), ledger=noted("lines"))

    written = []
    stand_ins = {
        "EXPERIMENTS": tmp_path / "papers", "read_expected": read_expected, "read_results": lambda path: path.name,
        "with_derived": lambda paper, results: f"{paper} of {results}",
        "write_claims": lambda path, claims: written.append((path.name, claims)),
        "write_rows": lambda path, columns, lines: written.append((path.name, columns, lines)),
        "claims_markdown": len, "ledger_markdown": repr,
    }  # fmt: skip
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(reports, name, stand_in)
    experiment = SimpleNamespace(params={"scale": "s"}, data=tmp_path / "data", home=tmp_path)
    reports.ledger(experiment)
    claims, lines = (
        [f"{what} {n} s: {n} of scores, data" for n in "ab"] for what in ("claims", "lines")
    )
    assert written == [("claims.csv", claims), ("ledger.csv", reports.Line._fields, lines)]
    assert (tmp_path / "paper_figures/ledger/ledger.md").read_text() == f"2\n{lines!r}"
