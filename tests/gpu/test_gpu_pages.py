"""Pages show what the H100 measured: each row is made here again from the committed files."""

import csv
import math
import re
from pathlib import Path

import pytest

from experiments.gpu import JOBS, SCALE_JOBS, job_named, speed, table_1_transformer
from experiments.gpu.__main__ import MINUTES
from experiments.gpu.costs import host_cost
from longform.results import read_results
from longform_lab.scale_records import scale_results
from tests.gpu.test_gpu_measured import CALLS, CURVES, RECORDS, record, row, rows

ROOT = Path(__file__).parents[2]
SPEED = (ROOT / "docs/results/one_gpu_speed.md").read_text(encoding="utf-8")
FINDING = (ROOT / "docs/results/transformer_at_full_length.md").read_text(encoding="utf-8")
SCALE = scale_results(ROOT / "experiments/scales/table_1/records.csv.xz").where(
    system="hsmm_em", corpus="synthetic"
)
WORD = SCALE.one(metric="word_ppl", variant="")
STRICT = SCALE.one(metric="latent_ppl", variant="strict")
RELEASED = SCALE.one(metric="latent_ppl", variant="")
SHARED = (2,)  # calls in which two processes shared the card
ALONE = (1, 3, 4)
THIRTY_TWO, EIGHT = "transformer_batch_32", "transformer"


def cells(value):
    return f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]"


def seconds_of(pattern, *calls):
    return sorted(one["seconds"] for one in rows(*calls) if re.match(pattern, one["part"]))


def ends(values, form):
    return f"{values[0]:{form}} to {values[-1]:{form}}"


def curve_total(run, column):
    return sum(
        row(f"train {run}, seed 1: update {curve['update']}")[column]
        for curve in CURVES
        if curve["run"] == run
    )


@pytest.mark.parametrize(
    "run, update",
    [
        (THIRTY_TWO, 1875),
        (THIRTY_TWO, 7500),
        (THIRTY_TWO, 15000),
        (THIRTY_TWO, 30000),
        (EIGHT, 60000),
        (EIGHT, 120000),
    ],
)
def test_the_page_sets_each_measured_network_beside_the_hsmm(run, update):
    word, latent = (
        record(run, update, *names) for names in (("word_ppl",), ("latent_ppl", "strict"))
    )
    texts = 32 if run == THIRTY_TWO else 8
    read = latent.units / (latent.units + latent.excluded)
    line = f"| {texts}, {update:,} | {cells(word)} | {cells(latent)} | {read:.2f} |"
    line += f" {word.value / WORD.value:.2f} | {latent.value / STRICT.value:.2f} |"
    assert line in FINDING


def test_the_page_has_the_network_whose_records_did_not_come_back():
    values = row(f"measure {EIGHT}, seed 1: update 30000", 4)
    word, latent = values["word_ppl"], values["latent_ppl_strict"]
    line = f"| 8, 30,000 | {word:.2f} | {latent:.2f} | | {word / WORD.value:.2f} |"
    assert f"{line} {latent / STRICT.value:.2f} |" in FINDING


def test_the_verdict_is_of_the_records():
    read = STRICT.units / (STRICT.units + STRICT.excluded)
    assert f"[{WORD.value:.2f} and, by the strict rule, {STRICT.value:.2f}]" in FINDING
    assert f"It takes {read:.2f} of the HSMM's ({STRICT.units:,} of 6,400)" in FINDING
    assert f"It takes {RELEASED.units / 6400:.2f} of them" in FINDING
    last, released = (record(THIRTY_TWO, 30000, name) for name in ("word_ppl", "latent_ppl"))
    assert f"gives {cells(released)} on {released.units} of 6,400 texts" in FINDING
    both = {f"{last.value / WORD.value:.2f}", f"{released.value / RELEASED.value:.2f}"}
    assert both == {"1.14"} and "1.14 in both" in FINDING
    assert record(EIGHT, 120000, "latent_ppl").units == 0 and "158 texts and none" in FINDING


def test_losses_and_numbers_of_segments_of_the_page():
    for run, update, texts in ((THIRTY_TWO, 30000, 32), (EIGHT, 120000, 8)):
        losses = row(f"train {run}, seed 1: update {update}")
        assert f"{losses['loss']:.3f}" == "0.735" and "0.735 nats" in FINDING
        assert f"{losses['validation_loss']:.3f}" in FINDING
        totals = record(run, update, "latent_ppl", "strict")
        segments = totals.details["totals"]["transitions"] / totals.units
        assert f"{segments:.1f} " in FINDING and f"({texts} texts)" in FINDING
    of_32 = [curve for curve in CURVES if curve["run"] == THIRTY_TWO]
    best = min(of_32, key=lambda curve: float(curve["validation_loss"]))
    assert f"lowest after {int(best['update']):,}" in FINDING


def test_a_transformer_of_the_scale_miscounts_too():
    scale = scale_results(ROOT / "experiments/scales/table_1/records.csv.xz").where(
        system="transformer", corpus="synthetic", metric="latent_ppl"
    )
    strict, released = scale.one(variant="strict").units, scale.one(variant="").units
    text = f"(the strict rule reads {strict:,} of its 6,400 texts, the released one {released})"
    assert text in FINDING
    assert f"(a PPL of {math.exp(0.735):.2f})" in FINDING


def test_the_small_experiment_stands_on_the_page():
    records = read_results(ROOT / "experiments/gpu/measured/small_records.json")
    exactly = {}
    for name in ("dropout", "no_dropout"):
        counts = records.one(system=name, metric="segments").details["texts_by_segments"]
        assert sum(counts.values()) == 400
        exactly[name] = counts["20"]
    text = f"Of 400 samples {exactly['dropout']} have exactly 20 segments after training with"
    assert f"{text} dropout 0.3, and {exactly['no_dropout']} after training without" in FINDING
    with (ROOT / "experiments/gpu/measured/small_curves.csv").open(encoding="utf-8") as file:
        last = [line for line in csv.DictReader(file) if line["update"] == "4800"]
    losses = next(line for line in last if line["run"] == "dropout")
    masked, plain = (
        float(losses[column]) for column in ("validation_loss_with_dropout", "validation_loss")
    )
    assert f"with dropout on is {masked:.3f}, with it off {plain:.3f}" in FINDING
    settings = table_1_transformer.SMALL
    assert settings.corpus["steps"] == 20 and settings.runs[0].recipe.updates == 4_800


def test_no_first_text_has_fifty_segments():
    text = (ROOT / "experiments/gpu/measured/first_texts.txt").read_text(encoding="utf-8")
    numbers = [line.split().count("<space>") for line in text.splitlines() if line[0] != "#"]
    assert len(numbers) == 10 and set(numbers) == {48, 49}


def test_the_readme_has_the_numbers_of_the_records():
    word, latent = (
        record(THIRTY_TWO, 30000, *names) for names in (("word_ppl",), ("latent_ppl", "strict"))
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    hsmm = f"the HSMM's {STRICT.value:.2f} (strict rule)"
    against = f"its Latent PPL is {latent.value:.1f} against {hsmm}"
    assert f"{against}, a smaller gap than in word PPL" in readme
    assert 1 < latent.value / STRICT.value < word.value / WORD.value
    page = (ROOT / "docs/results/synthetic_language.md").read_text(encoding="utf-8")
    assert f"word PPL {word.value:.2f}, Latent PPL {latent.value:.1f} by the strict rule" in page


def test_training_rows_of_the_speed_page():
    minutes = curve_total(THIRTY_TWO, "seconds") / 60
    last = row(f"train {THIRTY_TWO}, seed 1: update 30000")
    floor = curve_total(THIRTY_TWO, "floor_seconds")
    line = f"| 30,000 updates of 32 texts | {floor:.0f} s | 2.9 min | {minutes:.1f} min |"
    assert f"{line} {last['share_of_peak']:.1%}".replace("%", " %") in SPEED
    last = row(f"train {EIGHT}, seed 1: update 120000")
    alone = last["ms_an_update"] * 120_000 / 60_000
    line = f"| 120,000 updates of 8 texts | {curve_total(EIGHT, 'floor_seconds'):.0f} s | 3.9 min |"
    line += f" {curve_total(EIGHT, 'seconds') / 60:.1f} min, the card shared; {alone:.1f} at the"
    line += " speed of the last 15,000, alone |"
    assert line in SPEED and f"{last['share_of_peak']:.1%} alone".replace("%", " %") in SPEED
    kernels = host_cost(6).kernels
    millis = last["ms_an_update"]
    assert f"{kernels} kernels: {millis:.2f} ms are {1e3 * millis / kernels:.1f} micro" in SPEED


def test_measuring_rows_of_the_speed_page():
    sampled, measured = (
        (seconds_of(kind, *ALONE), seconds_of(kind, *SHARED)) for kind in ("sample ", "measure ")
    )
    shares = sorted(one["share_of_peak"] for one in rows(*ALONE) if one["part"][:7] == "sample ")
    text = f"| 45 s with the next row | {ends(sampled[0], '.0f')} s alone,"
    text += f" {sampled[1][0]:.0f} and {sampled[1][1]:.0f} shared |"
    text += f" {100 * shares[0]:.2f} to {100 * shares[-1]:.2f} % alone |"
    assert text in SPEED
    text = f"| {ends(measured[0], '.0f')} s alone, {measured[1][0]:.0f} and {measured[1][1]:.0f} sh"
    assert text in SPEED
    assert f"| not predicted | {row('corpus')['seconds']:.0f} s | |" in SPEED


def test_other_rows_of_the_speed_page():
    em = row("one EM iteration, 800 states, 6,400 texts")
    text = f"| {em['seconds']:.1f} s, of which maximisation {em['maximisation_seconds']:.1f}; so"
    text += f" {em['seconds_for_51200_texts']:.0f} s for all 51,200 texts |"
    assert f"{text} {100 * em['share_of_peak']:.2f} % |" in SPEED
    for part, digits in (
        ("HSMM gradients, 800 states: ours, 256 sequences", 2),
        ("surprisal: ours", 1),
        ("training 135 M: ours", 1),
    ):
        one = row(part)
        share = 100 * one["share_of_peak"]
        assert f"| {one['seconds']:.2f} s | {share:.{digits}f} % |" in SPEED
    peaks = [
        process["report"]["ceilings"]
        for call in CALLS
        if call["call"] in ALONE
        for process in call["processes"]
    ]
    flops = sorted(peak["flops"] / 1e12 for peak in peaks)
    moved = sorted(peak["bandwidth"] / 1e12 for peak in peaks)
    assert f"{ends(flops, '.0f')} Tflop/s" in SPEED and f"{ends(moved, '.2f')} TB/s" in SPEED
    (process,) = [one for call in CALLS for one in call["processes"] if one["job"] == "speed"]
    assert f"| 8 min allowed | {process['seconds']} s |" in SPEED
    step = row("sampling 18.94 M: ours, 1600 texts")["seconds"] / 399
    assert f"takes {1e3 * step:.0f} ms for 1,600 texts" in SPEED
    minutes = sum(call["wall_seconds"] for call in CALLS) / 60
    page = (ROOT / "docs/one_gpu.md").read_text(encoding="utf-8")
    assert f"in four calls of {minutes:.0f} minutes together" in page


@pytest.mark.parametrize(
    "ours, peer, digits",
    [
        ("training 18.94 M, batch 8: ours", "training 18.94 M, batch 8: plain loop", 1),
        ("training 18.94 M, batch 8: ours", "training 18.94 M, batch 8: Lightning", 1),
        ("training 18.94 M, batch 32: ours", "training 18.94 M, batch 32: plain loop", 1),
        ("training 18.94 M, batch 32: ours", "training 18.94 M, batch 32: Lightning", 1),
        ("sampling 18.94 M: ours, 1600 texts", "sampling 18.94 M: generate, 1600 texts", 2),
        (
            "HSMM gradients, 800 states: ours, 256 sequences",
            "HSMM gradients, 800 states: torch-struct's lean scan, 32 sequences",
            1,
        ),
        ("surprisal: ours", "surprisal: minicons, batch 256", 2),
        (
            "sampling beyond the window, 64 documents: ours",
            "sampling beyond the window, 64 documents: slides token by token",
            0,
        ),
    ],
)
def test_peers_stand_on_the_speed_page(ours, peer, digits):
    own, other = row(ours), row(peer)
    ratio = own["tokens_a_second"] / other["tokens_a_second"]
    assert ratio == pytest.approx(other["ours_over_it"])
    table = SPEED[SPEED.index("| what | ours") :].splitlines()
    begin = next(n for n, line in enumerate(table) if f"| {own['tokens_a_second']:,.0f} |" in line)
    assert any(line.endswith(f" | {ratio:.{digits}f} |") for line in table[begin : begin + 2])


def test_sentences_of_the_speed_page_and_of_the_costs_at_paper_size():
    surprisal = row("surprisal: ours")
    assert surprisal["equal_decisions"] == surprisal["pairs"] == 2000
    assert f"took {speed.TOOK['training_18m']:.0f} of 60" in SPEED
    assert f"sampling {speed.TOOK['sampling_18m']:.0f} of 90" in SPEED
    recorded = row(f"train {THIRTY_TWO}, seed 1: update 30000")["share_of_peak"]
    launched = row("training 135 M: ours")["share_of_peak"]
    page = (ROOT / "docs/paper_size.md").read_text(encoding="utf-8")
    text = f"reached {100 * recorded:.0f} % of the peak with 32 texts, launched ones of 135 million"
    assert f"{text} weights {100 * launched:.0f} %" in page
    gaps = [one["report"]["recording gap"] for call in CALLS for one in call["processes"]]
    assert set(gaps) == {0}  # "the two were equal"


def test_plans_have_the_measured_costs():
    (process,) = [one for call in CALLS for one in call["processes"] if one["job"] == "speed"]
    assert process["seconds_of_parts"] == speed.TOOK and speed.TOOK.keys() == speed.PARTS.keys()
    parts = {part.name.partition(":")[0]: part for part in table_1_transformer.plan(False)}
    took = curve_total(THIRTY_TWO, "seconds") / 60
    assert parts[f"{THIRTY_TWO}, seed 1"].minutes == pytest.approx(took, rel=0.03)
    last = row(f"train {EIGHT}, seed 1: update 120000")
    took = last["ms_an_update"] * 120_000 / 60_000
    assert parts[f"{EIGHT}, seed 1"].minutes == pytest.approx(took, rel=0.03)
    whole = []
    for one in rows(*ALONE):
        if one["part"].startswith("measure "):
            sampled = row(one["part"].replace("measure ", "sample "), *ALONE)
            whole.append(one["seconds"] + sampled["seconds"])
    assert len(whole) == 5
    assert min(whole) <= table_1_transformer.MEASUREMENT_SECONDS <= max(whole)


def test_every_decimal_of_the_finding_is_one_that_was_looked_at():
    """A number that is put on the page later needs a check of its own."""
    checked = {"0.3", "18.94", "18.75", "0.59", "2.05", "2.28", "47.24", "64.80"}  # the paper's
    for one in RECORDS:
        if one.value is not None:
            checked |= {f"{value:.2f}" for value in (one.value, one.low, one.high)}
            checked |= {f"{one.units / (one.units + one.excluded):.2f}"}
            for hsmm in (WORD, STRICT, RELEASED):
                checked |= {f"{one.value / hsmm.value:.2f}", f"{hsmm.value:.2f}"}
            totals = one.details["totals"]
            if "transitions" in totals:
                checked |= {f"{totals['transitions'] / one.units:.1f}"}
    lost = row(f"measure {EIGHT}, seed 1: update 30000", 4)
    word, latent = lost["word_ppl"], lost["latent_ppl_strict"]
    checked |= {f"{word:.2f}", f"{latent:.2f}"}
    checked |= {f"{word / WORD.value:.2f}", f"{latent / STRICT.value:.2f}"}
    checked |= {f"{RELEASED.units / 6400:.2f}"}
    checked |= {"0.735", "2.09", "0.820", "1.309", "0.1", "0.539", "0.511"}
    assert set(re.findall(r"\d+\.\d+", FINDING)) <= checked


def test_every_job_stands_on_the_page_with_the_calls_of_its_plan():
    page = (ROOT / "docs/one_gpu.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| ")]
    for job in JOBS:
        (row,) = [line for line in table if re.match(rf"\| \[?`{job}`", line)]
        if job in SCALE_JOBS:
            minutes = sum(part.minutes for part in job_named(job).plan(False))
            assert math.ceil(minutes / MINUTES) == 3 and row.endswith("| three |"), job


@pytest.mark.parametrize("job", ["ladder", "translators", "completions"])
def test_jobs_that_wait_have_the_minutes_of_their_plans(job):
    page = (ROOT / "docs/one_gpu_ready.md").read_text(encoding="utf-8")
    plan = job_named(job).plan(False)
    minutes = sum(part.minutes for part in plan)
    assert f"| {minutes:.0f} minutes in three calls |" in page
    megabytes = job_named(job).brought.moved / 1e6
    text = "SmolLM2's 98 MB travel" if job_named(job).weights else f"{megabytes:.1f} MB travel"
    assert text in page
