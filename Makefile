# `make demo` and `make test` set everything up by themselves; they need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A process a core, each with a broker of its own (some 600 MB a process); a file's tests stay together, in order.
SIDE_BY_SIDE := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
READY := $(VENV)/.ready

.PHONY: help demo test check lint format types imports test-unit test-integration bench lock clean
.DEFAULT_GOAL := help

help: ## Show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

$(READY): pyproject.toml requirements.lock requirements-uv.lock
	$(PYTHON) -c 'import sys; sys.exit("mnemolog needs Python 3.11 or newer; set PYTHON=") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: $(READY) ## The main job: remember, recall with reasons, supersede, forget, replay
	$(BIN)/mnemolog demo

test: $(READY) ## All tests, on a real Kafka that they start themselves
	$(BIN)/pytest tests $(SIDE_BY_SIDE)

check: lint types imports test ## Everything that must pass before a change lands

lint: $(READY) ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY) ## Types
	$(BIN)/mypy

imports: $(READY) ## Import directions
	$(BIN)/lint-imports

test-unit: $(READY) ## The tests that need no broker
	$(BIN)/pytest tests $(SIDE_BY_SIDE) -m "not kafka"

test-integration: $(READY) ## The tests on real Kafka
	$(BIN)/pytest tests $(SIDE_BY_SIDE) -m kafka

bench: $(READY) ## All benchmarks, with their peers
	$(BIN)/python -m benchmarks

lock: $(READY) ## Renew requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet pyproject.toml --all-extras --universal --python-version 3.11 \
		--generate-hashes --custom-compile-command "make lock" -o requirements.lock

clean: ## Remove what make made
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache
