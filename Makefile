# The one entry point: for people, and for CI, which calls nothing else. `make` alone lists what there is.
SHELL := /bin/sh
PYTHON := .venv/bin/python
SOURCES := functions layers local docs tests clients/python
TYPESCRIPT := clients/typescript
# npm's own record of what it has installed.
NODE_MODULES := $(TYPESCRIPT)/node_modules/.package-lock.json
# What `make lock` runs: hashes for every platform, the address of no registry, and in the lock's head what it is of.
compile = UV_CUSTOM_COMPILE_COMMAND="make lock  \# of $$(git hash-object $(1).in)" .venv/bin/uv pip compile --quiet \
  --no-emit-index-url --no-emit-find-links --generate-hashes --python-version 3.13 $(if $(UPGRADE),--upgrade) \
  $(1).in -o $(1).lock

# LOCAL_PORT, NAME and STACK are in the environment of what runs here, and are taken from there: put into a line of
# shell, a quote in one would end it.
.DEFAULT_GOAL := help
.PHONY: help setup dev gate local local-down local-reset local-logs local-company reconcile test check lint template unit
.PHONY: format lock snapshot docs reference blocking smoke-aws node bench

help: ## List what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install .venv and the local stack's tools (the others do it by themselves)
	@sh local/setup.sh sam emulator

dev:
	@sh local/setup.sh

gate:
	@sh local/setup.sh sam checkov

node: $(NODE_MODULES)

$(NODE_MODULES): $(TYPESCRIPT)/package.json $(TYPESCRIPT)/package-lock.json $(TYPESCRIPT)/.npmrc
	@sh local/node.sh
	@cd $(TYPESCRIPT) && npm ci --loglevel=error >/dev/null && touch node_modules/.package-lock.json

local: setup ## Run the service on this machine and make a key (LOCAL_PORT=4600 for another port)
	@$(PYTHON) -m local up $(if $(LOCAL_PORT),--port="$$LOCAL_PORT")

local-down: setup ## Stop it, keep its data
	@$(PYTHON) -m local down

local-reset: setup ## Stop it, forget its data
	@$(PYTHON) -m local reset

local-logs: setup ## Follow what the functions log
	@$(PYTHON) -m local logs

local-company: setup ## Make another company, print its key alone: make -s local-company NAME=acme (NEW_KEY=1: one more key)
	@$(PYTHON) -m local company $(if $(NEW_KEY),--new-key) \
	  $(if $(NAME),-- "$$NAME",$(error NAME is missing: make -s local-company NAME=acme))

reconcile: setup ## Show what functions that died have left, and the reconciler would destroy
	@$(PYTHON) -m local reconcile

test: setup gate node ## Everything: lint, types, the template, and all tests, with local stacks of their own
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) lint template
	@$(PYTHON) -m pytest tests/unit tests/integration -n auto
	@cd $(TYPESCRIPT) && npm test --silent
	@$(PYTHON) -m pytest tests/e2e -n 3 --dist worksteal

smoke-aws: dev ## Check a stack on AWS, with your AWS credentials and a key in NAIVE_API_KEY: make smoke-aws STACK=naive
	@$(PYTHON) -m tests.smoke $(if $(STACK),-- "$$STACK",$(error STACK is missing: make smoke-aws STACK=naive))

check: gate node ## The fast part: lint, types, the template, unit tests
	@$(MAKE) --no-print-directory -kj2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) unit lint template

lint: dev node
	@$(PYTHON) -m ruff check $(SOURCES)
	@$(PYTHON) -m ruff format --check $(SOURCES)
	@$(PYTHON) -m mypy
	@cd $(TYPESCRIPT) && npm run --silent lint

# SAM looks once a week, and checkov always, for a newer version of itself: not here.
template: export AWS_DEFAULT_REGION := us-east-1
template: export AWS_EC2_METADATA_DISABLED := true
template: export CKV_SKIP_PACKAGE_UPDATE_CHECK := true
template: export SAM_CLI_TELEMETRY := 0
template: export __SAM_CLI_APP_DIR := .local/sam
template: gate
	@echo '{"lastVersionCheck": 4102444800.0}' > .local/sam/metadata.json
	@.local/sam/bin/sam validate
	@.local/sam/bin/sam validate --lint
	@.local/sam/bin/python local/translate.py template.yaml > .local/translated.json
	@.local/sam/bin/cfn-lint .local/translated.json
	@.local/checkov/bin/checkov --config-file .checkov.yaml --file .local/translated.json

unit: gate node
	@$(PYTHON) -m pytest tests/unit
	@cd $(TYPESCRIPT) && npm test --silent

snapshot: gate ## Accept what the template as it is makes, deletes and replaces
	@$(PYTHON) -m tests.snapshot

format: dev node ## Format the code and mend what lint can mend
	@$(PYTHON) -m ruff check --fix $(SOURCES)
	@$(PYTHON) -m ruff format $(SOURCES)
	@cd $(TYPESCRIPT) && npm run --silent format

bench: dev ## Measure how long programs take to import the Python library, against what it depends on
	@$(PYTHON) -m tests.benchmarks

lock: dev ## Resolve the locks again (UPGRADE=1 for the newest versions)
	@$(call compile,layers/runtime/requirements) --python-platform aarch64-manylinux_2_34
	@for name in uv dev sam emulator checkov; do $(call compile,requirements/$$name) --universal || exit 1; done

blocking: dev ## Write the Python client that blocks from the asynchronous one
	@$(PYTHON) clients/python/scripts/blocking.py

reference: dev node ## Write the references of both libraries into the folders clients/*/reference
	@$(PYTHON) clients/python/scripts/reference.py
	@cd $(TYPESCRIPT) && npm run --silent reference

docs: dev ## Write the CLI reference, the OpenAPI document and the plots again
	@$(PYTHON) clients/python/scripts/cli_reference.py > docs/cli.md
	@PYTHONPATH=layers/tenancy $(PYTHON) -m docs.openapi
	@$(PYTHON) -m docs.plots
