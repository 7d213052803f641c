"""Training: a killed run ends with the weights of an unbroken one, several processes with those of one, and nothing hangs on tracking."""

import csv
import json
import math
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import wandb
from pytorch_lightning import loggers
from pytorch_lightning.loggers.logger import DummyLogger
from tiny import bpe_folder, documents, lm_folder
from transformers import AutoModelForCausalLM
from wandb.proto.wandb_internal_pb2 import Record

from longform.language_models import causal_lm, lightning, schedule
from longform.language_models.checkpoints import load_model, load_tokenizer, source
from longform.language_models.schedule import (
    Launch,
    Schedule,
    TrainingBatches,
    ValidationBatches,
    linear_schedule,
)
from longform_lab import tracking
from tests.kills import killed
from tests.pipeline.repro_project import until
from tests.refusals import refuses

# with dropout, as comparisons need
SHAPE = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "resid_pdrop": 0.2}
PLAN = {"learning_rate": 1e-2, "batch": 2, "epochs": 4, "validations": 4}
TWICE = {**PLAN, "accumulate": 2}
REORDERED = 2e-6  # Adam divides by the root of squared gradients: sums in another order move a weight by a few ulp
ROOT = Path(__file__).parents[2]


def fit(base, scratch, **over):
    scratch.mkdir(parents=True, exist_ok=True)
    settings = {
        "titles": True,
        "packing": "stream",
        "context": 16,
        "shape": SHAPE,
        "schedule": PLAN,
    } | over
    return causal_lm.fit(
        documents=documents(), base=base, scratch=scratch, **{"name": "tiny", "seed": 7} | settings
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return bpe_folder(tmp_path_factory.mktemp("bpe"))


def test_the_first_validation_documents_choose_the_weights(base, tmp_path, monkeypatch):
    given = {}

    def record(kind, network, items, *rest, **named):
        given.update(items)
        return lightning.Progress("tiny", 1)

    monkeypatch.setattr(causal_lm, "fit_learner", record)
    rows = {}
    for number in (None, 2):
        fit(base, tmp_path, packing="documents", context=256, validation_documents=number)
        rows[number] = [list(row) for row in given["validation"]]
        assert len(given["train"]) == 6
    assert len(rows[None]) == 3 and rows[2] == rows[None][:2]


def validation_losses(scratch):
    with (scratch / "log" / "metrics.csv").open() as lines:
        return [
            float(row["validation_loss"])
            for row in csv.DictReader(lines)
            if row.get("validation_loss")
        ]


def weights(trained):
    return {name: value.clone() for name, value in trained.network.state_dict().items()}


def test_a_run_killed_by_sigkill_ends_with_the_weights_of_an_unbroken_one(base, tmp_path):
    whole = fit(base, tmp_path / "unbroken")
    unbroken = weights(whole)
    kept = tmp_path / "killed" / "last.ckpt"
    killed(
        fit, base, kept.parent, slow=(lightning.Progress, "on_train_batch_end"), until=kept.is_file
    )
    assert kept.is_file()
    after = fit(base, kept.parent)
    resumed = weights(after)
    assert all(torch.equal(unbroken[name], resumed[name]) for name in unbroken)
    assert after.curve == whole.curve
    # the learning curve has a row for each validation
    whole.save(tmp_path / "model")
    rows = list(csv.DictReader((tmp_path / "model" / "training.csv").read_text().splitlines()))
    updates = [int(row["update"]) for row in rows]
    assert len(rows) == PLAN["validations"] and updates == [
        updates[0] * n for n in range(1, len(rows) + 1)
    ]
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])
    kept = min(rows, key=lambda row: float(row["validation_loss"]))
    blocks = causal_lm.stream_blocks(
        [d for d in documents() if d.split == "validation"], whole.tokenizer, True, 16
    )
    with torch.no_grad():
        batch = causal_lm.collate(blocks)
        logits = whole.network.eval()(batch["input_ids"]).logits[:, :-1].flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, batch["labels"][:, 1:].flatten())
    assert float(kept["validation_loss"]) == pytest.approx(float(loss), abs=1e-4)


UNSTEADY = {
    **PLAN,
    "learning_rate": 3.0,
    "warmup": 1.0,
    "validations": 8,
}  # best early: its rate rises to the end


def stopped(base, scratch, monkeypatch, after):
    """A training that ends before the checkpoint of validation number ``after + 1`` is written."""
    plain = lightning.Progress.on_validation_end

    def ending(progress, trainer, module):
        plain(progress, trainer, module)
        if len(progress.rows) > after:
            raise ZeroDivisionError

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(lightning.Progress, "on_validation_end", ending)
        fit(base, scratch, schedule=UNSTEADY)


@pytest.fixture(scope="module")
def unsteady(base, tmp_path_factory):
    trained = fit(base, tmp_path_factory.mktemp("unsteady"), schedule=UNSTEADY)
    losses = [float(loss) for _, _, loss in trained.curve[1:]]  # below the names of its columns
    assert losses.index(min(losses)) < 4, losses
    return weights(trained)


@pytest.mark.parametrize("after", [5, pytest.param(8, marks=pytest.mark.long)])
def test_a_training_goes_on_in_a_folder_that_was_moved(
    base, unsteady, tmp_path, monkeypatch, after
):
    begun, moved = tmp_path / "begun", tmp_path / "moved"
    if after < UNSTEADY["validations"]:
        stopped(base, begun, monkeypatch, after)
    else:  # trained to its end, and killed before its weights were saved
        fit(base, begun, schedule=UNSTEADY)
    begun.rename(moved)
    resumed = weights(fit(base, moved, schedule=UNSTEADY))
    assert all(torch.equal(unsteady[name], resumed[name]) for name in unsteady)


@pytest.mark.parametrize(
    "files, change, sentence",
    [
        ("last.ckpt", "flip", "last.ckpt missing or cut in {}; goes on from best-epoch="),
        ("best-*.ckpt", "remove", ".ckpt missing or cut in {}; starts over"),
        pytest.param(
            "*.ckpt",
            "cut",
            "last.ckpt missing or cut in {}; starts over",
            marks=pytest.mark.long,  # as the two before it
        ),
    ],
)
def test_damaged_checkpoints_cost_a_sentence(
    base, unsteady, tmp_path, monkeypatch, capsys, files, change, sentence
):
    stopped(base, tmp_path / "s", monkeypatch, after=5)
    for path in (tmp_path / "s").glob(files):
        content = bytearray(path.read_bytes())
        if change == "remove":
            path.unlink()
            continue
        if change == "flip":
            content[len(content) // 2] ^= 255
        path.write_bytes(content[: len(content) // 2] if change == "cut" else content)
    capsys.readouterr()
    resumed = weights(fit(base, tmp_path / "s", schedule=UNSTEADY))
    assert all(torch.equal(unsteady[name], resumed[name]) for name in unsteady)
    assert sentence.format(tmp_path / "s") in capsys.readouterr().out


def test_batches_follow_seed_and_step_and_the_rate_rises_then_falls(monkeypatch):
    plan = Schedule(1e-3, batch=3, epochs=2, validations=2, accumulate=2)
    sampler = TrainingBatches(10, plan, seed=1)
    sampler.set_epoch(1)
    later = list(sampler)
    fresh = TrainingBatches(10, plan, seed=1)
    first = list(fresh)
    fresh.set_epoch(1)
    assert list(fresh) == later and first != later
    items = [i for batch in first + later for i in batch]
    assert sorted(items[:10]) == list(range(10))  # the first pass sees every item once
    assert len(first) == len(sampler) == plan.updates(10) // 2 * 2
    rate = linear_schedule(100, 0.1)
    assert rate(0) == pytest.approx(0.1)
    assert rate(9) == 1.0
    assert rate(55) == pytest.approx(0.5)
    assert rate(100) == 0
    for world in (2, 3):  # processes share one sequence of batches
        plan = Schedule(1e-3, batch=3, epochs=4, validations=2, accumulate=world)
        one = list(TrainingBatches(20, plan, seed=1))
        monkeypatch.setenv("LONGFORM_DEVICES", str(world))
        for process in range(world):
            monkeypatch.setattr(schedule, "rank", lambda process=process: process)
            assert list(TrainingBatches(20, plan, seed=1)) == one[process::world]
        assert Launch(4, world, "ddp").world == 4 * world  # every device of every node
        monkeypatch.undo()


@pytest.mark.parametrize("validations", [1, 2, 4])
def test_a_pass_sees_every_item_once_however_often_it_is_validated(
    base, tmp_path, monkeypatch, validations
):
    seen, plain = [], causal_lm.collate
    monkeypatch.setattr(
        causal_lm, "collate", lambda rows: seen.append([tuple(row) for row in rows]) or plain(rows)
    )
    fit(
        base, tmp_path / "s", schedule={**PLAN, "batch": 1, "epochs": 1, "validations": validations}
    )
    items, held = (
        [
            tuple(row)
            for row in causal_lm.stream_blocks(part, load_tokenizer(base), True, 16).tolist()
        ]
        for part in (
            [d for d in documents() if d.split == split] for split in ("train", "validation")
        )
    )
    trained = [
        tuple(map(int, row)) for batch in seen for row in batch if tuple(map(int, row)) not in held
    ]
    assert len(items) - 4 <= len(set(trained) & set(items)) <= len(items) and set(items) - set(
        held
    ) <= set(trained)


def test_finetuning_starts_from_a_pinned_checkpoint_of_its_shape(tmp_path):
    start = lm_folder(tmp_path / "lm")
    before = AutoModelForCausalLM.from_pretrained(start).state_dict()
    tuned = fit(start, tmp_path / "s", shape=None, schedule={**PLAN, "learning_rate": 0.0})
    assert all(
        torch.equal(before[name], value) for name, value in tuned.network.state_dict().items()
    )
    folder = lm_folder(tmp_path)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"n_embd": 16', '"n_embd": 24'))
    refuses(r"another shape|no model could be opened", load_model, folder, AutoModelForCausalLM)
    (tmp_path / "pointer.json").write_text('{"hub": "EleutherAI/pythia-14m"}')
    refuses("pin a commit", source, tmp_path)
    (tmp_path / "pointer.json").write_text('{"hub": "EleutherAI/pythia-14m", "revision": "abc"}')
    assert source(tmp_path) == {
        "pretrained_model_name_or_path": "EleutherAI/pythia-14m",
        "revision": "abc",
    }
    refuses("no tokenizer could be opened", load_tokenizer, tmp_path / "nowhere")


def planned(**over):
    return {"schedule": {**PLAN, **over}}


@pytest.mark.parametrize(("over", "sentence"),
                         [(planned(learningrate=1), "schedule has 'learningrate'; allowed are"),
                          (planned(precision="bf16"), "precision='bf16', allowed are"),
                          (planned(batch=0), "batch=0"), (planned(learning_rate=float("nan")), "learning_rate=nan"),
                          ({"DEVICES": "0"}, "LONGFORM_DEVICES is '0'"), ({"NODES": "1.5"}, "NODES is '1.5'"),
                          ({"DEVICES": "2"}, "accumulate=1"),
                          ({"STRATEGY": "dpp"}, "LONGFORM_STRATEGY is 'dpp', allowed are"),
                          ({"STRATEGY": "fsdp"}, "is 'fsdp', which Lightning has for GPUs alone"),
                          ({"shape": {**SHAPE, "n_head": 3}}, "no such network"),
                          ({"shape": {**SHAPE, "resid_pdrop": "none"}}, "no such network"),
                          ({"shape": {**SHAPE, "n_layers": 4}},
                           "has 'n_layers', which its configuration lacks .near: n_layer"),
                          ({"packing": "rows"}, "packing 'rows'; allowed are"),
                          ({"shape": {"model_type": "gtp2"}}, "model_type 'gtp2'; allowed are"),
                          ({"shape": None}, "no model could be opened|holds no model"),
                          ({"context": 10_000}, "zero train items")])  # fmt: skip
def test_bad_settings_are_one_sentence(base, tmp_path, monkeypatch, over, sentence):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in filter(str.isupper, over):
        monkeypatch.setenv(f"LONGFORM_{name}", over[name])
    refuses(
        sentence,
        fit,
        base,
        tmp_path,
        **{name: value for name, value in over.items() if name.islower()},
    )


def records_of(path):
    """The whole records of an offline run's file, which is LevelDB's log."""
    data, at, record = path.read_bytes(), 7, b""
    while (left := 32768 - at % 32768) and at + 7 <= len(data):
        if left < 7:
            at += left
            continue
        size, kind = struct.unpack("<4xHB", data[at : at + 7])
        if at + 7 + size > len(data):
            return
        record, at = record + data[at + 7 : at + 7 + size], at + 7 + size
        if kind in (1, 4):  # whole, or its last part
            yield Record.FromString(record)
            record = b""


def written(path):
    """The (run, configuration, names of values, last values) of an offline run's file.

    W&B's own process may write the last of it after the run has finished here.
    """
    until(lambda: any(record.HasField("exit") for record in records_of(path)))
    config, names, last, found = {}, set(), {}, None
    for part in records_of(path):
        found = part.run if part.HasField("run") else found
        # with the run's beginning, and later
        given = [*part.run.config.update, *part.config.update]
        config |= {item.key: json.loads(item.value_json) for item in given}
        names |= {item.key or item.nested_key[0] for item in part.history.item}
        for item in part.summary.update:
            last[".".join(item.nested_key)] = json.loads(item.value_json)
    return found, config, names, last


def tracked(monkeypatch):
    """Track the trainings of one test, as a stage does."""
    monkeypatch.setattr(lightning, "mirrors", [])
    monkeypatch.setattr(tracking, "mirrors", lightning.mirrors)
    tracking.track()


@pytest.mark.long  # a tracked run is tested on one network below
def test_every_network_is_a_run_of_its_own_that_a_resume_goes_on_with(base, tmp_path, monkeypatch):
    wandb.finish()  # a training that was refused before may have left its run open
    for name, value in {
        "MODE": "offline",
        "DIR": tmp_path / "wandb",
        "_DISABLE_STATS": "true",
    }.items():
        monkeypatch.setenv(f"WANDB_{name}", str(value))
    monkeypatch.setenv("DVC_STAGE", "language_model_articles@wiki-gpt2")
    monkeypatch.setenv("LONGFORM_STAGE", "")
    tracked(monkeypatch)
    for name in (
        "wiki-small",
        "wiki-large",
        "wiki-large",
    ):  # the last is a resume: its scratch folder is still there
        made = fit(base, tmp_path / name, name=name)
    files = sorted((tmp_path / "wandb").rglob("*.wandb"), key=lambda file: file.parent.name)
    runs, configs, curves, scores = zip(*map(written, files), strict=True)
    assert sorted(run.display_name for run in runs) == ["wiki-large", "wiki-large", "wiki-small"]
    assert (
        len({run.run_id for run in runs})
        == len({(run.run_id, run.display_name) for run in runs})
        == 2
    )
    assert all(
        run.run_group == "wiki" and run.tags == ["CausalLanguageModel"] and run.resume
        for run in runs
    )
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    assert {run.git.commit for run in runs} == {head}
    for run, config, score in zip(runs, configs, scores, strict=True):
        told = {
            "name": run.display_name,
            "stage": "language_model_articles@wiki-gpt2",
            "seed": 7,
            **PLAN,
        }
        assert told.items() <= config.items()
        assert config["network"]["n_embd"] == 16
        assert config["network"]["parameters"] == sum(p.numel() for p in made.network.parameters())
        assert score["best_validation_loss"] == pytest.approx(
            min(row[2] for row in made.curve[1:]), abs=1e-6
        )
    # an ended run's resume adds none
    assert sum({"loss", "validation_loss", "lr-AdamW"} <= curve for curve in curves) == 2


def test_runs_of_a_scale_have_its_name_and_commit_and_a_curve(base, tmp_path, monkeypatch):
    wandb.finish()
    for name, value in {
        "MODE": "offline",
        "DIR": tmp_path / "wandb",
        "_DISABLE_STATS": "true",
    }.items():
        monkeypatch.setenv(f"WANDB_{name}", str(value))
    monkeypatch.chdir(tmp_path)
    tracked(monkeypatch)
    Path("scale.json").write_text(json.dumps({"scale": "sizes", "commit": "f00d"}))
    short = {**PLAN, "epochs": 2, "validations": 2}
    fit(base, tmp_path / "s", name="wiki-small", schedule=short)
    (file,) = (tmp_path / "wandb").rglob("*.wandb")
    run, config, curve, _ = written(file)
    assert (run.display_name, run.run_group) == ("sizes/wiki-small", "sizes/wiki")
    assert {"scale": "sizes", "commit": "f00d"}.items() <= config.items()
    assert config["updates"] < 50 and "loss" in curve


def test_a_tracker_that_does_not_start_costs_its_mirror_and_no_training(
    tmp_path, monkeypatch, capsys
):
    class Silent:
        def __init__(self, **_):
            pass

        @property
        def experiment(self):
            raise TimeoutError("no answer in 30 seconds")

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "wandb"))
    monkeypatch.setattr(loggers, "WandbLogger", Silent)
    assert tracking.wandb_run("row", tmp_path, []) == []
    assert "not mirrored" in capsys.readouterr().out


class EndedRuns(DummyLogger):
    """A tracker that writes down with which status each run ended."""

    def __init__(self, ends):
        super().__init__()
        self.ends = ends

    @property
    def experiment(self):
        return SimpleNamespace(finish=lambda exit_code: self.ends.append(exit_code))


def test_a_tracked_run_ends_as_its_training_did(base, tmp_path, monkeypatch):
    ends = []
    monkeypatch.setattr(lightning, "mirrors", [lambda *_: [EndedRuns(ends)]])
    short = {**PLAN, "epochs": 1, "validations": 1}
    made = fit(base, tmp_path / "whole", schedule={**short, "precision": "64-true"})
    assert next(made.network.parameters()).dtype == torch.float64

    def broken(*_):
        raise ArithmeticError("broken on purpose")

    monkeypatch.setattr(lightning.BestCheckpoint, "on_validation_end", broken)
    with pytest.raises(ArithmeticError):
        fit(base, tmp_path / "broken", schedule=short)
    assert ends == [0, 1]


def farthest(one, two):
    return max(float((one[name] - two[name]).abs().max()) for name in one)


@pytest.fixture(scope="module")
def alone(base, tmp_path_factory):
    """Weights and validation losses of one process with accumulation 2."""
    scratch = tmp_path_factory.mktemp("alone")
    return weights(fit(base, scratch, schedule=TWICE)), validation_losses(scratch)


def test_two_processes_end_with_the_weights_of_one(base, alone, tmp_path, two_processes):
    spread = weights(fit(base, tmp_path, schedule=TWICE))
    assert farthest(spread, alone[0]) < REORDERED
    assert validation_losses(tmp_path) == pytest.approx(alone[1], abs=1e-5)


@pytest.mark.long  # a process of its own
def test_a_worker_of_a_slurm_task_farm_trains_its_own_network(base, alone, tmp_path, monkeypatch):
    for name, value in {"NTASKS": "8", "PROCID": "3", "LOCALID": "3", "JOB_NAME": "farm"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    farmed = weights(fit(base, tmp_path, schedule=TWICE))
    assert all(torch.equal(value, farmed[name]) for name, value in alone[0].items())


@pytest.mark.long  # two processes end with the same weights, in the test of that name
def test_passes_of_an_update_leave_the_training_loss_as_it_is(base, tmp_path):
    """Two passes of half a batch see what one of a whole one sees; texts of unequal length weigh a little otherwise."""
    calm = {**SHAPE, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    losses = []
    for passes in (1, 2):
        plan = {**PLAN, "batch": 4 // passes, "accumulate": passes}
        made = fit(base, tmp_path / str(passes), schedule=plan, shape=calm)
        losses.append([float(row[1]) for row in made.curve[1:]])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


@pytest.mark.long  # the compiler's own start; no scale of two cores compiles
def test_recomputing_and_compiling_change_no_weight(base, alone, tmp_path, monkeypatch):
    found = weights(fit(base, tmp_path / "recomputed", schedule={**TWICE, "checkpointing": True}))
    assert farthest(found, alone[0]) < REORDERED
    rough = fit(base, tmp_path / "rough", schedule={**TWICE, "precision": "bf16-mixed"})
    assert validation_losses(tmp_path / "rough")[-1] == pytest.approx(alone[1][-1], rel=0.02)
    assert all(value.dtype == torch.float32 for value in rough.network.state_dict().values())
    used = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: used.append(type(self).__name__))
    found = weights(fit(base, tmp_path / "compiled", schedule={**TWICE, "compile": True}))
    assert used == ["GPT2LMHeadModel"] and found.keys() == alone[0].keys()


@pytest.mark.parametrize(
    ("gpu", "made", "processor", "meant"),
    [(True, True, "AVX2", "bf16-mixed"), (True, False, "AVX512", "32-true"), (False, True, "AVX512", "bf16-mixed"),
     (False, True, "AVX2", "32-true"), (False, True, "DEFAULT", "32-true")],
)  # fmt: skip
def test_auto_is_bfloat16_where_the_machine_multiplies_it(monkeypatch, gpu, made, processor, meant):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(gpu))
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: made or including_emulation
    )
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: processor)
    assert schedule.arithmetic("auto") == meant
    assert schedule.arithmetic("64-true") == "64-true"


def test_a_training_in_auto_says_and_keeps_what_it_was(base, alone, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    found = weights(fit(base, tmp_path / "auto", schedule={**TWICE, "precision": "auto"}))
    assert farthest(found, alone[0]) == 0
    assert "precision auto is 32-true" in capsys.readouterr().out
    assert "precision: 32-true" in next((tmp_path / "auto").rglob("hparams.yaml")).read_text()


@pytest.mark.parametrize(("items", "world"), [(10, 1), (10, 2), (11, 3), (2, 4)])
def test_every_validation_item_counts_once_and_processes_take_equal_steps(
    monkeypatch, items, world
):
    counted, steps = [], set()
    for process in range(world):
        monkeypatch.setattr(schedule, "rank", lambda process=process: process)
        shares = ValidationBatches(items, 2, world)
        batches = list(shares)
        steps.add(len(batches))
        counted += [i for step, batch in enumerate(batches) if shares.counts(step) for i in batch]
    assert sorted(counted) == list(range(items)) and steps == {
        math.ceil(math.ceil(items / 2) / world)
    }


def test_a_network_whose_padding_is_the_end_of_text_learns_from_nothing(base):
    tokenizer = load_tokenizer(base)
    tokenizer.pad_token = tokenizer.eos_token
    shape = {
        "model_type": "llama",
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 24,
        "num_attention_heads": 2,
    }
    network = causal_lm.from_scratch(shape, tokenizer, 16, seed=7)
    assert network.config.pad_token_id == tokenizer.pad_token_id
    ids = torch.tensor([[tokenizer.eos_token_id, 5, 6]])
    network(ids, labels=ids).loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())
    assert network.get_input_embeddings()(ids).any(-1).all()


def test_a_loss_that_is_no_number_ends_the_training(base, tmp_path):
    refuses(
        "validation loss nan after update .*lower the learning rate",
        fit,
        base,
        tmp_path,
        schedule={**PLAN, "learning_rate": 1e38},
    )
