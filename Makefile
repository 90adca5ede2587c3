# The one entry point: for people, and for CI, which calls nothing else. `make` alone lists what there is.
SHELL := /bin/sh
PYTHON := .venv/bin/python
SOURCES := functions layers local tests clients/python
# What `make lock` runs: hashes for every platform, and the address of no registry.
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet --no-emit-index-url \
  --no-emit-find-links --generate-hashes --python-version 3.13 $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.PHONY: help setup dev local local-down local-reset local-logs local-company test check lint format lock docs

help: ## List what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install .venv and the local stack's tools (the others do it by themselves)
	@sh local/setup.sh sam emulator

dev:
	@sh local/setup.sh

local: setup ## Run the service on this machine and make a key (LOCAL_PORT=4600 for another port)
	@$(PYTHON) -m local up $(if $(LOCAL_PORT),--port $(LOCAL_PORT))

local-down: setup ## Stop it, keep its data
	@$(PYTHON) -m local down

local-reset: setup ## Stop it, forget its data
	@$(PYTHON) -m local reset

local-logs: setup ## Follow what the functions log
	@$(PYTHON) -m local logs

local-company: setup ## Make another company, print its key alone: make -s local-company NAME=acme
	@$(PYTHON) -m local company "$(or $(NAME),$(error NAME is missing: make -s local-company NAME=acme))"

test: setup lint ## Everything: lint, types, and all tests with a local stack of their own
	@$(PYTHON) -m local run -- $(PYTHON) -m pytest tests

check: dev lint ## The fast part: lint, types, unit tests
	@$(PYTHON) -m pytest tests/unit

lint: dev
	@$(PYTHON) -m ruff check $(SOURCES)
	@$(PYTHON) -m ruff format --check $(SOURCES)
	@$(PYTHON) -m mypy

format: dev ## Format the code and mend what lint can mend
	@$(PYTHON) -m ruff check --fix $(SOURCES)
	@$(PYTHON) -m ruff format $(SOURCES)

lock: dev ## Resolve the locks again (UPGRADE=1 for the newest versions)
	@$(COMPILE) --python-platform aarch64-manylinux_2_34 layers/runtime/requirements.in -o layers/runtime/requirements.lock
	@for name in uv dev sam emulator; do \
	  $(COMPILE) --universal requirements/$$name.in -o requirements/$$name.lock || exit 1; done

docs: dev ## Write the CLI reference again
	@$(PYTHON) clients/python/scripts/cli_reference.py
