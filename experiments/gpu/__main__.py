"""One job: ``PYTHONPATH=src python -m experiments.gpu JOB``; without a job the plans of all.

``--tiny`` runs on a processor.
"""

import argparse
import math
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.gpu import JOBS, job_named
from longform.errors import BadInput

MINUTES = 9.0
SPARE = 15.0  # seconds in which a call writes what it has


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu", description=__doc__)
    # What runs.
    job = "which job; without one, the plans of all"
    parser.add_argument("job", nargs="?", choices=list(JOBS), help=job)
    tiny = "the same code on two processor cores in under a minute"
    parser.add_argument("--tiny", action="store_true", help=tiny)
    small = "table_1_transformer alone: two small networks, with and without dropout, on one core"
    parser.add_argument("--small", action="store_true", help=small)
    only = (
        "table_1_transformer alone: one training (transformer-1), so that several processes share"
        " a card"
    )
    parser.add_argument("--only", metavar="RUN", help=only)
    plan = "each part's least seconds at nominal speed and predicted minutes; nothing is run"
    parser.add_argument("--plan", action="store_true", help=plan)
    # Where, how long and how.
    parser.add_argument("--out", type=Path, help="where results go (scratch/gpu/JOB/out)")
    state = "what the next call goes on from (scratch/gpu/JOB/state)"
    parser.add_argument("--state", type=Path, help=state)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long the call may take")
    unrecorded = "no CUDA graphs: every update is launched by Python"
    parser.add_argument("--unrecorded", action="store_true", help=unrecorded)
    return parser


def show_plan(name: str, tiny: bool) -> None:
    """Print each part's least seconds and predicted minutes, and what a job reads and writes."""
    from experiments.gpu.frame import BRING, NOMINAL
    from experiments.gpu.inputs import input_bytes

    job = job_named(name)
    parts = job.plan(tiny)
    minutes = sum(part.minutes for part in parts)
    calls = math.ceil(minutes / MINUTES)
    print(f"{name}: {minutes:.1f} minutes predicted, in {calls} calls of at most {MINUTES:.0f};")
    brought = sum(part.moved for part in parts if part.name == BRING)
    texts = f", and {brought / 2**20:.0f} MiB of texts and weights" if brought else ""
    print(f"  in {input_bytes(name):,} bytes{texts};")
    print(f"  out {', '.join(job.outputs)}")
    for part in parts:
        cost = f"{part.operations:.2g} operations, {part.moved:.2g} bytes"
        print(f"  {part.name}: {cost}, at least {part.floor(NOMINAL):.2g} s;")
        print(f"    {part.minutes:.1f} min predicted: {part.because}")


def main(words: list[str] | None = None) -> int:
    """Run a job, or print plans; ``words`` are the command's (by default the program's)."""
    started = time.monotonic()
    options = arguments().parse_args(words)
    try:
        if options.job is None or options.plan:
            for name in [options.job] if options.job else JOBS:
                show_plan(name, options.tiny)
            return 0
        run_job(options, started)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0


def run_job(options: argparse.Namespace, started: float) -> None:
    """Run a job within its time.

    Raises:
        BadInput: there is no GPU, and the job is not to be tiny.
    """
    from experiments.gpu.frame import REPORT, AtWork, Call, Report, measured_ceilings
    from longform.language_models.device import chosen_device, set_products

    # What may run where.
    job = job_named(options.job)
    if (options.small or options.only) and options.job != "table_1_transformer":
        raise BadInput(f"gpu {options.job}: --small and --only are for table_1_transformer alone")
    device = chosen_device()
    set_products()
    short = options.tiny or options.small
    if device.type == "cpu" and not short:
        raise BadInput(
            f"gpu {options.job}: no GPU is here; run it on a machine with one, or give --tiny for"
            " two cores"
        )
    out, state = folders(options)
    # The work, while other processes see that it goes on.
    at_work = AtWork(Path("scratch") / "gpu" / "at_work", options.only or options.job)
    at_work.enter()
    try:
        ceilings = measured_ceilings(device, short)
        report = Report(out / REPORT, ceilings, neighbours=at_work.others)
        tflops, terabytes = ceilings.flops / 1e12, ceilings.bandwidth / 1e12
        print(f"{ceilings.device}: {tflops:.3g} Tflop/s, {terabytes:.3g} TB/s", flush=True)
        may_record = device.type == "cuda" and not options.unrecorded
        record = may_record and recording_works(device, report)
        deadline = started + 60 * options.minutes - SPARE
        call = Call(
            device=device,
            tiny=options.tiny,
            record=record,
            out=out,
            state=state,
            deadline=deadline,
            report=report,
            small=options.small,
            only=options.only,
        )
        job.run(call)
    finally:
        at_work.leave()
    print(f"{options.job}: {time.monotonic() - started:.0f} s in all", flush=True)


def folders(options: argparse.Namespace) -> tuple[Path, Path]:
    """Create and return the folder of results, and that of the state a later call resumes from."""
    form = ""
    if options.tiny:
        form = "_tiny"
    if options.small:
        form = "_small"
    home = Path("scratch") / "gpu" / f"{options.job}{form}"
    name = f"out-{options.only}" if options.only else "out"
    out = options.out or home / name
    state = options.state or home / "state"
    for folder in (out, state):
        folder.mkdir(parents=True, exist_ok=True)
    return out, state


def recording_works(device: Any, report: Any) -> bool:
    """Whether recorded updates equal launched ones and each draws a dropout mask of its own."""
    from experiments.gpu.training import ALLOWED_GAP, Recorder, mask_check, recording_gap

    gap = recording_gap(device, Recorder)
    masks = mask_check(device, Recorder)
    report.facts["recording gap"] = gap
    report.facts["two replays apart, nats"] = asdict(masks)
    works = gap <= ALLOWED_GAP and masks.passes
    consequence = "recorded" if works else "launched one by one, which is slower"
    print(
        f"recorded updates part from launched ones by {gap:.2g} of their way, allowed is"
        f" {ALLOWED_GAP}; losses of two replays lie {masks.with_dropout:.2g} nats apart with"
        f" dropout, {masks.without:.2g} without: updates are {consequence}"
    )
    return works


if __name__ == "__main__":
    sys.exit(main())
