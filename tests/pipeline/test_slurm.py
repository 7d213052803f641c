"""docs/cluster.md's way to train on several processes of a Slurm job, with a stand-in for srun that sets what Slurm sets."""

import os
import subprocess
import sys
from pathlib import Path

import torch
import yaml
from safetensors.torch import load_file
from tiny import bpe_folder, documents

from longform.core.artefacts import write_documents
from longform.core.stages import main

ROOT = Path(__file__).parents[2]
SRUN = """#!/bin/bash
tasks="${1#--ntasks-per-node=}"; shift
for task in $(seq 0 $((tasks - 1))); do
  env SLURM_JOB_ID=$$ SLURM_JOBID=$$ SLURM_STEP_ID=0 SLURM_JOB_NAME=training SLURM_NNODES=1 SLURM_NODEID=0 \
    SLURM_NODELIST=127.0.0.1 SLURM_JOB_NODELIST=127.0.0.1 SLURM_NTASKS=$tasks SLURM_NPROCS=$tasks \
    SLURM_NTASKS_PER_NODE=$tasks SLURM_PROCID=$task SLURM_LOCALID=$task "$@" &
  started+=($!)
done
for one in "${started[@]}"; do wait "$one" || failed=1; done
exit "${failed:-0}"
"""
SCHEDULE = {"learning_rate": 1.0e-2, "batch": 2, "epochs": 2, "validations": 2, "accumulate": 2}
STAGE = ("language_model", "articles", "wiki", "tiny")


def project(folder: Path) -> Path:
    bpe_folder(folder / "data" / "tokenizers" / "articles")
    write_documents(folder / "data" / "corpora" / "articles" / "wiki" / "documents.jsonl", documents())
    training = {"packing": "stream", "context": 16, "schedule": SCHEDULE}
    shape = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}
    study = {"corpora": ["wiki"], "models": ["tiny"], "titles": ["with"], "training": training}
    (folder / "params.yaml").write_text(yaml.safe_dump({"seed": 1, "models": {"tiny": shape}, "articles": study}))
    return folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(next(folder.glob("data/models/articles/wiki/tiny/**/model.safetensors")))


def test_a_training_that_srun_starts_once_a_process_is_one_training(tmp_path):
    srun = tmp_path / "srun"
    srun.write_text(SRUN)
    srun.chmod(0o755)
    spread = project(tmp_path / "spread")
    command = f"{srun} --ntasks-per-node=2 {sys.executable} -m longform.pipeline {' '.join(STAGE)} --home {spread}"
    source = {"PYTHONPATH": str(ROOT / "src"), "LONGFORM_DEVICES": "2", "LONGFORM_STRATEGY": "ddp"}
    done = subprocess.run(command.split(), capture_output=True, text=True, env={**os.environ, **source}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("best validation loss") == 1  # one process speaks and writes
    assert main([*STAGE, "--home", str(project(tmp_path / "alone"))]) == 0
    one, two = weights(tmp_path / "alone"), weights(spread)
    assert one.keys() == two.keys() and all(torch.allclose(one[name], two[name], atol=2e-6) for name in one)
    assert not any((spread / "scratch").rglob("*.ckpt"))
