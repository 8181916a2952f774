# Two commands are enough: `make quickstart` (set-up, the main job, a report) and `make test`.
# Both install what they need, say what they do, and download nothing the second time.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Thousands of processes import the same modules: without bytecode each would compile them again.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
READY := .venv/.ready
PROVISIONED := .venv/.provisioned

.PHONY: help setup quickstart test test-clients test-extended test-fast test-formats check format lock docs site clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): requirements.lock pyproject.toml scripts/setup.sh
	@scripts/setup.sh
	@touch $@

$(PROVISIONED): $(READY)
	@$(BIN)/kafka-trial doctor --fix
	@touch $@

setup: $(PROVISIONED)  ## the Python environment, Java, Kafka's jars, Toxiproxy

quickstart: setup  ## set up everything, run two clients in eight cells, write a report
	@echo "==> running: kafka-trial run 'produce/*' -c reference -c confluent-kafka"
	@$(BIN)/kafka-trial run 'produce/*' -c reference -c confluent-kafka --seed 7
	@echo "==> analysing with PySpark: kafka-trial report runs"
	@$(BIN)/kafka-trial report runs

test: setup  ## the tests, with real brokers
	@$(BIN)/pytest -n 4

test-extended: setup  ## what they leave out for its length, and CI runs as well: more versions and brokers, whole jobs
	@$(BIN)/pytest -n 4 -m extended

test-clients: setup  ## every client at every tested version: contract, settings, producing without faults
	@$(BIN)/pytest -n 2 -m 'every_client or long or jvm' tests/clients/adapters tests/clients/skeletons tests/suites/contract \
		tests/harness/adapter tests/harness/provision

test-fast: $(READY)  ## the tests without a JVM, under a minute
	@$(BIN)/pytest -m 'not jvm and not long and not every_client and not extended' -n 2 --hypothesis-profile=quick

test-formats: $(READY)  ## every file format, 20,000 hostile examples each; SEED=n repeats them
	@seed=$${SEED:-$$RANDOM}; echo "==> SEED=$$seed"; \
	$(BIN)/pytest -n 2 --hypothesis-profile=thorough --hypothesis-seed=$$seed tests/attacks/formats

check: $(READY)  ## format, lint, types, import rules, outdated generated docs, word list, broken links
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python scripts/docs.py --check
	@$(BIN)/python scripts/prose.py
	@$(BIN)/python scripts/sentences.py
	@$(BIN)/python scripts/links.py

format: $(READY)  ## format the code and apply automatic fixes
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

docs: $(READY)  ## generate the docs that come from tables
	@$(BIN)/python scripts/docs.py

site: $(READY)  ## build the documentation as a site in site/, and check its links
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@$(BIN)/python scripts/links.py --site site
	@echo "==> site/index.html"

lock: $(READY)  ## resolve the dependencies again, with hashes and without addresses
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header \
		--no-annotate --all-extras --group dev pyproject.toml -o requirements.lock

clean:  ## remove the environment and the caches of tools (never runs/)
	@rm -rf .venv site .mypy_cache .pytest_cache .ruff_cache .hypothesis
