"""docs/cluster.md's way to train on several processes of a Slurm job, with a stand-in for srun that sets what Slurm 22.05 set."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file
from tiny import bpe_folder, documents

from longform.files.artefacts import write_documents
from longform_lab.stages import main

ROOT = Path(__file__).parents[2]
SRUN = """#!/bin/bash
nodes="${1#--nodes=}"; each="${2#--ntasks-per-node=}"; shift 2
tasks=$((nodes * each)); list=localhost; job="$(basename "$1")"
[ "$nodes" = 1 ] || list="localhost,127.0.0.1"
for task in $(seq 0 $((tasks - 1))); do
  env SLURM_JOB_ID=$$ SLURM_JOBID=$$ SLURM_STEP_ID=0 SLURM_STEPID=0 SLURM_JOB_NAME="$job" \
    SLURM_NNODES=$nodes SLURM_JOB_NUM_NODES=$nodes SLURM_STEP_NUM_NODES=$nodes SLURM_NODEID=$((task / each)) \
    SLURM_NODELIST=$list SLURM_JOB_NODELIST=$list SLURM_STEP_NODELIST=$list SLURM_NTASKS=$tasks SLURM_NPROCS=$tasks \
    SLURM_STEP_NUM_TASKS=$tasks SLURM_NTASKS_PER_NODE=$each SLURM_PROCID=$task SLURM_LOCALID=$((task % each)) "$@" &
  started+=($!)
done
for one in "${started[@]}"; do wait "$one" || failed=1; done
exit "${failed:-0}"
"""
SCHEDULE = {"learning_rate": 1.0e-2, "batch": 2, "epochs": 2, "validations": 2, "accumulate": 2}
STAGE = ("language_model", "articles", "wiki", "tiny")


def project(folder: Path) -> Path:
    bpe_folder(folder / "data" / "tokenizers" / "articles")
    write_documents(
        folder / "data" / "corpora" / "articles" / "wiki" / "documents.jsonl", documents()
    )
    training = {"packing": "stream", "context": 16, "schedule": SCHEDULE}
    shape = {"kind": "network", "model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}
    study = {"corpora": ["wiki"], "models": ["tiny"], "titles": ["with"], "training": training}
    (folder / "params.yaml").write_text(
        yaml.safe_dump({"seed": 1, "models": {"tiny": shape}, "articles": study})
    )
    return folder


@pytest.mark.long  # two fresh processes each; that two processes end with the weights of one is in test_training.py
@pytest.mark.parametrize(("nodes", "each"), [(1, 2), (2, 1)])
def test_a_training_that_srun_starts_once_a_process_is_one_training(nodes, each, tmp_path):
    srun = tmp_path / "srun"
    srun.write_text(SRUN)
    srun.chmod(0o755)
    spread = project(tmp_path / "spread")
    command = [
        srun,
        f"--nodes={nodes}",
        f"--ntasks-per-node={each}",
        sys.executable,
        "-m",
        "longform_lab",
        *STAGE,
    ]
    shared = {
        "LONGFORM_DEVICES": str(each),
        "LONGFORM_NODES": str(nodes),
        "LONGFORM_STRATEGY": "ddp",
    }
    source = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **shared}
    done = subprocess.run(
        [*command, "--home", spread], capture_output=True, text=True, env=source, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("best validation loss") == 1  # one process speaks and writes
    alone = project(tmp_path / "alone")
    assert main([*STAGE, "--home", str(alone)]) == 0
    one, two = (
        load_file(next((home / "data" / "models").rglob("model.safetensors")))
        for home in (alone, spread)
    )
    assert one.keys() == two.keys() and all(
        torch.allclose(one[name], two[name], atol=2e-6) for name in one
    )
    assert not any((spread / "scratch").rglob("*.ckpt"))
