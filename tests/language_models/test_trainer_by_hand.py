"""What the trainer is told, and what its callbacks count, with a stand-in for Lightning's."""

import logging
import math
import os
import re
import warnings
from types import SimpleNamespace

import pytest
import torch

from longform.language_models import causal_lm, lightning, schedule
from longform.language_models.lightning import BestCheckpoint, Learner, Progress, Steps, adamw
from longform.language_models.schedule import Schedule
from longform.statistics.random_streams import derived_seed
from tests.refusals import refuses


def test_reading_ends_when_every_process_has_read(monkeypatch):
    steps = []
    trainer = SimpleNamespace(
        predict=lambda module, loader, **more: steps.append((module, list(loader), more)),
        strategy=SimpleNamespace(barrier=lambda: steps.append("barrier")),
    )
    monkeypatch.setattr(
        schedule.Launch,
        "trainer",
        lambda self, module, **settings: steps.append(settings) or trainer,
    )
    schedule.predict("module", ["a", "b", "c"], 2)
    assert steps == [
        {"logger": False, "enable_checkpointing": False},
        ("module", [["a", "b"], ["c"]], {"return_predictions": False}),
        "barrier",
    ]


@pytest.fixture
def told(monkeypatch):
    """Settings of the last trainer."""
    given = {}
    monkeypatch.setattr(schedule.pl, "Trainer", lambda **settings: given.update(settings))
    monkeypatch.setattr(schedule, "trainer_devices", lambda devices: {"devices": devices})
    return given


@pytest.mark.parametrize(
    ("launch", "tasks", "elastic", "alone"),
    [
        ((1, 1), None, None, True),
        ((1, 1), "1", None, True),
        ((2, 1), "2", None, False),
        ((2, 1), "8", None, True),
        ((2, 2), "4", None, False),
        ((2, 1), None, None, False),
        ((1, 1), None, "job", False),
    ],
)
def test_a_run_joins_the_slurm_job_of_its_own_size_alone(
    launch, tasks, elastic, alone, told, monkeypatch
):
    for name, value in {"SLURM_NTASKS": tasks, "TORCHELASTIC_RUN_ID": elastic}.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    schedule.Launch(*launch).trainer(torch.nn.Linear(1, 1), max_epochs=3)
    assert bool(told["plugins"]) is alone
    assert (told["devices"], told["num_nodes"], told["max_epochs"]) == (*launch, 3)
    switches = ("use_distributed_sampler", "enable_progress_bar", "enable_model_summary")
    assert [told[name] for name in switches] == [False, False, False]
    assert told["strategy"] == "auto"


def test_shards_are_for_gpus_and_strategies_that_lightning_has(told, monkeypatch):
    refuses(
        "'fsdp', which Lightning has for GPUs alone", schedule.Launch(2, 1, "fsdp").trainer, None
    )
    refuses("LONGFORM_STRATEGY is 'ring', allowed are", schedule.Launch, 1, 1, "ring")
    assert schedule.Launch(3, 4).world == 12
    monkeypatch.setattr(schedule, "chosen_device", lambda: torch.device("cuda"))
    assert schedule.Launch(1, 1, "fsdp_cpu_offload")._strategy(None) == "fsdp_cpu_offload"
    monkeypatch.setattr(schedule, "FSDPStrategy", dict)
    module = torch.nn.Linear(1, 1)
    module.network = SimpleNamespace(_no_split_modules=["Linear"])
    schedule.Launch(2, 1, "fsdp").trainer(module)
    assert told["strategy"] == {"auto_wrap_policy": {torch.nn.Linear}, "state_dict_type": "full"}


def test_every_step_has_its_own_seed_whatever_the_process(monkeypatch):
    """Batch 2 of the second part of ten batches is number 12 of a process, 25 of two."""
    trainer = SimpleNamespace(current_epoch=1, num_training_batches=10, world_size=2, global_rank=1)
    module = SimpleNamespace(device=torch.device("cpu"))
    Steps(7, 1.0).on_train_batch_start(trainer, module, None, 2)
    drawn = torch.rand(3)
    torch.manual_seed(derived_seed(7, "step", 25))
    assert torch.equal(drawn, torch.rand(3))
    seeds = []
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    for kind, count in (("cpu", 0), ("cuda", 1)):
        module.device = torch.device(kind)
        Steps(7, 1.0).on_train_batch_start(trainer, module, None, 2)
        assert seeds == [derived_seed(7, "step", 25)] * count


def test_gradients_are_cut_at_the_norm_over_all_weights_or_all_shards():
    network = torch.nn.Linear(2, 1, bias=False)
    network.weight.grad = torch.tensor([[3.0, 4.0]])
    plain = SimpleNamespace(strategy=SimpleNamespace(model=network))
    Steps(7, 2.5).on_before_optimizer_step(plain, network, None)
    torch.testing.assert_close(network.weight.grad, torch.tensor([[1.5, 2.0]]))
    norms = []
    sharded = SimpleNamespace(
        strategy=SimpleNamespace(model=SimpleNamespace(clip_grad_norm_=norms.append))
    )
    Steps(7, 0.5).on_before_optimizer_step(sharded, network, None)
    assert norms == [0.5]
    torch.testing.assert_close(network.weight.grad, torch.tensor([[1.5, 2.0]]))


def test_progress_is_said_after_ten_seconds_with_tokens_of_all_processes(monkeypatch, capsys):
    """Two processes, 30 tokens each in 11 seconds; 60 in 21.5. Losses are shares of an update."""
    now = [100.0]
    monkeypatch.setattr(lightning.time, "monotonic", lambda: now[0])
    progress = Progress("tiny", 9)
    trainer = SimpleNamespace(
        accumulate_grad_batches=2, global_rank=0, world_size=2, global_step=4, callback_metrics={}
    )
    batch = {"labels": torch.zeros(3, 5)}

    def end(loss, seconds):
        now[0] = 100.0 + seconds
        progress.on_train_batch_end(trainer, None, {"loss": torch.tensor(loss)}, batch, 0)
        return capsys.readouterr().out

    assert end(1.0, 10) == ""
    assert end(0.75, 11) == "train tiny: 4/9, loss 1.500, 5 tokens/s\n"
    assert end(0.5, 21) == "" and end(0.5, 21.5) == "train tiny: 4/9, loss 1.000, 6 tokens/s\n"
    trainer.global_rank = 1
    assert end(0.5, 100) == ""
    trainer.callback_metrics["validation_loss"] = torch.tensor(3.0)
    progress.on_validation_end(trainer, None)
    assert progress.rows == [(4, pytest.approx((2 + 1.5 + 1 + 1 + 1) / 5), 3.0)]
    progress.on_validation_end(trainer, None)
    assert progress.losses == [] and math.isnan(progress.rows[1][1])
    again = Progress("tiny", 9)
    again.load_state_dict({"rows": [[4, 1.3, 3.0]]})
    assert again.state_dict() == {"rows": [(4, 1.3, 3.0)]}
    trainer.callback_metrics["validation_loss"] = torch.tensor(math.inf)
    refuses(
        "train tiny: validation loss inf after update 4", progress.on_validation_end, trainer, None
    )
    assert len(progress.rows) == 2


def test_checkpoints_are_found_by_name_in_the_folder_that_is_there(tmp_path):
    best = BestCheckpoint(tmp_path, "best-{epoch}", monitor="validation_loss")
    best.load_state_dict(
        {
            "dirpath": "/old",
            "monitor": "validation_loss",
            "best_model_path": "/old/best-1.ckpt",
            "best_model_score": torch.tensor(2.0),
            "current_score": torch.tensor(3.0),
            "best_k_models": {"/old/best-1.ckpt": torch.tensor(2.0)},
            "kth_best_model_path": "/old/best-1.ckpt",
            "kth_value": torch.tensor(2.0),
            "last_model_path": "",
        }
    )
    here = os.path.join(tmp_path, "best-1.ckpt")
    assert best.best_model_path == best.kth_best_model_path == here
    assert list(best.best_k_models) == [here] and best.last_model_path == ""
    assert float(best.best_model_score) == 2.0


@pytest.mark.parametrize(
    ("precision", "fused"), [("32-true", True), ("bf16-mixed", True), ("16-mixed", False)]
)
def test_adamw_has_the_schedules_numbers_and_a_rate_for_each_step(precision, fused):
    plan = Schedule(0.5, 1, 1, warmup=0.5, weight_decay=0.25, precision=precision)
    made = adamw(torch.nn.Linear(1, 1), plan, 4)
    (group,) = made["optimizer"].param_groups
    assert (group["initial_lr"], group["weight_decay"], group["fused"]) == (0.5, 0.25, fused)
    assert group["lr"] == 0.25 and made["lr_scheduler"]["interval"] == "step"
    rate = made["lr_scheduler"]["scheduler"].lr_lambdas[0]
    assert [rate(step) for step in range(5)] == [0.5, 1.0, 1.0, 0.5, 0.0]


class Network(torch.nn.Linear):
    """Keeps how it was made ready."""

    def __init__(self, checkpointing=True):
        super().__init__(1, 1)
        self.said = []
        if checkpointing:
            self.gradient_checkpointing_enable = lambda **given: self.said.append(given)

    def compile(self):
        self.said.append("compiled")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, []),
        ({"compile": True}, ["compiled"]),
        ({"checkpointing": True}, [{"gradient_checkpointing_kwargs": {"use_reentrant": False}}]),
    ],
)
def test_a_network_is_compiled_or_recomputed_where_it_is_asked(settings, said):
    network = Network()
    learner = Learner(network, Schedule(0.1, 1, 1, **settings), 3)
    assert network.said == said and learner.validation is None
    assert (learner.updates, learner.network) == (3, network)
    if "checkpointing" in settings:
        refuses("Network does not know", Learner, Network(False), learner.schedule, 3)


@pytest.mark.parametrize(("counts", "weight"), [(None, 6), (True, 6), (False, 0)])
def test_a_validation_loss_weighs_by_labels_of_batches_that_count(counts, weight):
    """Three labels on each of two processes: Lightning divides the weight by their number."""
    logged = {}
    learner = SimpleNamespace(
        weight=lambda batch: Learner.weight(None, batch),
        loss=lambda batch: "loss",
        validation=None
        if counts is None
        else SimpleNamespace(counts=lambda index: counts and index == 5),
        trainer=SimpleNamespace(world_size=2),
        log=lambda name, value, **more: logged.update({name: (value, more)}),
    )
    Learner.validation_step(learner, {"labels": [1, 2, 3]}, 5)
    more = {"batch_size": weight, "sync_dist": counts is not None}
    assert logged == {"validation_loss": ("loss", more)}
    assert Learner.training_step(learner, {"labels": [1]}, 0) == "loss" and logged["loss"] == (
        "loss",
        {},
    )


class Trainer:
    """Stands for Lightning's: writes a checkpoint with a weight of 9."""

    global_rank = 0

    def __init__(self, tmp_path, settings):
        self.settings, self.steps, self.folder = settings, [], tmp_path
        self.strategy = SimpleNamespace(barrier=lambda: self.steps.append("barrier"))

    def fit(self, module, train, validation, ckpt_path, weights_only):
        self.steps.append(("fit", ckpt_path, weights_only))
        self.batches = [list(train.batch_sampler), list(validation.batch_sampler)]
        best = self.settings["callbacks"][0]
        best.best_model_path = str(self.folder / "best.ckpt")
        best.best_model_score = torch.tensor(1.5)
        state = {"network.weight": torch.tensor([[9.0]])}
        callbacks = {"BestCheckpoint{x}": {"best_model_score": torch.tensor(1.5)}}
        torch.save({"state_dict": state, "callbacks": callbacks}, best.best_model_path)


class Fitted(Learner):
    """A learner of one weight."""

    def __init__(self, plan):
        super().__init__(torch.nn.Linear(1, 1, bias=False), plan, 4)


@pytest.fixture
def fitted(monkeypatch, tmp_path):
    """Trains by a stand-in for the trainer; gives the trainer and the hyper-parameters."""

    def fit(plan, train=5, validation=3, **more):
        made = []

        def trainer(self, module, **settings):
            made.append(Trainer(tmp_path, settings))
            return made[0]

        monkeypatch.setattr(schedule.Launch, "trainer", trainer)
        module = Fitted(plan)
        kept = {}
        module.save_hyperparameters = kept.update
        items = {"train": list(range(train)), "validation": list(range(validation))}
        scratch = {"seed": 7, "name": "tiny", "scratch": tmp_path}
        progress = lightning.fit_module(module, items, lightning.numbers, plan, **scratch | more)
        return made[0], kept, module, progress

    return fit


def test_the_trainer_is_told_the_plan_and_the_best_weights_are_loaded(
    fitted, capsys, tmp_path, monkeypatch
):
    """Five items in batches of two, four passes an update: 2 updates a pass of eight items."""
    monkeypatch.delenv("LONGFORM_STAGE", raising=False)
    plan = Schedule(0.1, 2, 3, accumulate=4, validations=2, clip=0.5)
    trainer, kept, module, progress = fitted(plan)
    told = trainer.settings
    assert (told["max_epochs"], told["accumulate_grad_batches"], told["precision"]) == (
        2,
        4,
        "32-true",
    )
    assert (told["log_every_n_steps"], told["num_sanity_val_steps"]) == (1, 0)
    best, steps, shown, rates = told["callbacks"]
    assert shown is progress and (shown.name, shown.updates) == ("tiny", 2)
    assert (steps.seed, steps.norm, rates.logging_interval) == (7, 0.5, "step")
    assert (best.monitor, best.filename, best.save_last) == (
        "validation_loss",
        "best-{epoch}",
        True,
    )
    assert best._enable_version_counter is False and best.dirpath == str(tmp_path)
    assert trainer.steps == [("fit", None, True), "barrier"]
    assert [len(batches) for batches in trainer.batches] == [4, 2]
    assert trainer.batches[1] == [[0, 1], [2]] and module.validation is not None
    assert module.network.weight.item() == 9.0
    assert kept["name"] == "tiny" and (kept["seed"], kept["updates"], kept["clip"]) == (7, 2, 0.5)
    assert kept["items"] == {"train": 5, "validation": 3}
    assert (kept["processes"], kept["stage"]) == (1, None)
    assert kept["network"] == {"class": "Linear", "parameters": 1}
    assert capsys.readouterr().out == "train tiny: 2 updates, best validation loss 1.5000 nats\n"


@pytest.mark.parametrize(("items", "every"), [(10, 1), (40, 2), (2000, 50)])
def test_a_curve_has_twenty_points_and_a_point_each_fifty_updates(items, every, fitted):
    trainer, *_ = fitted(Schedule(0.1, 1, 1, validations=1), train=items)
    assert trainer.settings["log_every_n_steps"] == every


def test_a_training_needs_items_of_both_splits(fitted):
    plan = Schedule(0.1, 2, 3)
    refuses("train tiny: got zero train items", fitted, plan, train=0)
    refuses("got zero validation items; .* split 'validation'", fitted, plan, validation=0)


def test_passes_of_an_update_are_shared_out_among_processes(fitted, monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICES", "2")
    trainer, kept, *_ = fitted(Schedule(0.1, 2, 3, accumulate=4, validations=2))
    assert trainer.settings["accumulate_grad_batches"] == 2 and kept["processes"] == 2
    assert [len(batches) for batches in trainer.batches] == [2, 1]


@pytest.mark.parametrize(
    ("states", "point", "said"),
    [
        ({}, None, ""),
        ({"best-1": (1, "best-1"), "last": (2, "best-1")}, "last", ""),
        ({"best-1": (2, "best-1"), "last": (2, "best-1")}, "last", ""),
        ({"best-1": (1, "best-1"), "last": None}, "best-1", "last.ckpt missing or cut in .*; goes on from best-1.ckpt"),
        ({"best-1": None, "last": (2, "best-1")}, None, "best-1.ckpt missing or cut in .*; starts over"),
        ({"best-1": (1, "best-1"), "last": (2, "best-2")}, "best-1", "best-2.ckpt missing or cut in .*; goes on from best-1"),
        ({"last": None}, None, "last.ckpt missing or cut"),
        ({"best-1": None, "best-2": (2, "best-2")}, "best-2", "best-1.ckpt missing or cut in .*; goes on from best-2"),
    ],
)  # fmt: skip
def test_a_training_goes_on_from_the_furthest_whole_checkpoint(
    states, point, said, tmp_path, monkeypatch, capsys
):
    """States are a step and the best checkpoint's name; None is a damaged file."""
    for name in states:
        (tmp_path / f"{name}.ckpt").write_text("")

    def state(path):
        found = states[path.stem]
        if found is None:
            return None
        return {"global_step": found[0], "best": {"best_model_path": f"/old/{found[1]}.ckpt"}}

    monkeypatch.setattr(lightning, "_checkpoint_state", state)
    monkeypatch.setattr(lightning, "_best_state", lambda state: state["best"])
    found = lightning.resume_point("tiny", tmp_path)
    assert found == (tmp_path / f"{point}.ckpt" if point else None)
    assert re.match(f"train tiny: {said}" if said else "$", capsys.readouterr().out)


def test_a_trainer_is_quiet_about_itself_alone(told):
    names = ("pytorch_lightning", "lightning.pytorch", "lightning.fabric")
    before = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.INFO)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schedule.Launch(1, 1).trainer(torch.nn.Linear(1, 1))
            warnings.warn("isinstance(x, LeafSpec) is deprecated", stacklevel=1)
            for module in ("pytorch_lightning.trainer", "lightning.fabric"):
                warnings.warn_explicit("few workers", UserWarning, "file", 1, module)
            with pytest.raises(UserWarning, match="another"):
                warnings.warn("another", stacklevel=1)
        assert {logging.getLogger(name).level for name in names} == {logging.ERROR}
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def test_the_loss_is_the_mean_over_predicted_tokens_that_count():
    """Tokens of probabilities 1/4, 1/8 and 1/2, and one that does not count."""
    given = []

    def network(**named):
        given.append(named)
        logits = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
        return SimpleNamespace(logits=logits.expand(2, 3, 4).to(torch.bfloat16))

    labels = torch.tensor([[0, 1, 2], [3, 0, causal_lm.IGNORED]])
    batch = {"input_ids": "ids", "attention_mask": "mask", "labels": labels}
    module = SimpleNamespace(network=network)
    loss = causal_lm.CausalLanguageModel.loss(module, batch)
    assert float(loss) == pytest.approx(2 * math.log(2), rel=1e-2) and loss.dtype == torch.float32
    assert given == [{"input_ids": "ids", "attention_mask": "mask", "use_cache": False}]
    assert causal_lm.CausalLanguageModel.weight(module, batch) == 3


@pytest.mark.parametrize(
    ("more", "start", "held"),
    [
        ({}, ("load", "base"), ["b", "d"]),
        ({"shape": "shape"}, ("new", "shape", "words of base", 16, 5), ["b", "d"]),
        ({"shape": "shape", "bases": "bases", "validation_documents": 1},
         ("load", ("bases", "shape", "words of base")), ["b"]),
    ],
)  # fmt: skip
def test_a_language_model_starts_and_is_trained_as_its_settings_say(more, start, held, monkeypatch):
    calls = []

    def network(*how):
        return SimpleNamespace(float=lambda: ("float", *how))

    def learn(*given, **named):
        calls.append((given, named))
        return SimpleNamespace(COLUMNS="columns", rows=["row", "row 2"])

    fakes = {
        "has_model": lambda base: True,
        "load_tokenizer": lambda base: f"words of {base}",
        "load_model": lambda base, kind: network("load", base),
        "from_scratch": lambda *given: network("new", *given),
        "base_of": lambda *given: given,
        "PACKINGS": {"p": lambda texts, *rest: ([text.id for text in texts], *rest)},
        "fit_learner": learn,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(causal_lm, name, fake)
    splits = {"a": "train", "b": "validation", "c": "test", "d": "validation", "e": "train"}
    documents = [SimpleNamespace(id=name, split=split) for name, split in splits.items()]
    settings = {"base": "base", "name": "n", "seed": 5, "scratch": "scratch", "titles": True}
    settings |= {"packing": "p", "context": 16, "schedule": "plan"}
    made = causal_lm.fit(documents=documents, **settings, **more)
    rest = ("words of base", True, 16)
    items = {"train": (["a", "e"], *rest), "validation": (held, *rest)}
    expected = (causal_lm.CausalLanguageModel, ("float", *start), items, causal_lm.collate, "plan")
    assert calls == [(expected, {"seed": 5, "name": "n", "scratch": "scratch"})]
    curve = ("columns", "row", "row 2")
    assert made == causal_lm.SavedModel(("float", *start), "words of base", curve)


def test_a_new_network_has_the_tokenizers_ends_and_is_made_without_padding(monkeypatch):
    class Words:
        bos_token_id, eos_token_id, pad_token_id = 1, 2, 3

        def __len__(self):
            return 9

    made = SimpleNamespace(config=SimpleNamespace(), generation_config=SimpleNamespace())
    given = []
    monkeypatch.setattr(
        causal_lm, "new_network", lambda *args, **named: given.append((args, named)) or made
    )
    assert causal_lm.from_scratch({"model_type": "x", "bos_token_id": 7}, Words(), 16, 5) is made
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
    sizes = {"vocab_size": 9, "max_position_embeddings": 16}
    config = {"model_type": "x", **ends}
    assert given == [((config, causal_lm.AutoModelForCausalLM, 5), sizes)]
    assert made.config.pad_token_id == made.generation_config.pad_token_id == 3
