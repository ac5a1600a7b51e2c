# What people and CI both run. `make` alone lists the targets.
#
#   PYTHON=python3.12 make test       choose the interpreter (3.11 to 3.13)
#   make tests ARGS="-k wire -x"      hand arguments to pytest
#   make test JOBS=8                  use more cores

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

JOBS ?= 2
ARGS ?=

# The first of these that will do: its version, a hash of its place and of this one, and its own path, because it may be the
# .venv that is about to be made anew.
PYTHONS := $(if $(PYTHON),'$(PYTHON)',python3 python3.13 python3.12 python3.11)
FOUND := $(shell for p in $(PYTHONS); do "$$p" -c 'import os, sys, zlib; v = sys.version_info[:3]; \
	(3, 11) <= v < (3, 14) or sys.exit(1); base = os.path.realpath(sys._base_executable); \
	print("%d.%d.%d" % v, "%08x" % zlib.crc32(os.fsencode(base + os.getcwd())), base)' 2>/dev/null && break; done)
VERSION := $(firstword $(FOUND))
PLACE := $(word 2,$(FOUND))
BASE := $(wordlist 3,99,$(FOUND))

BIN := .venv/bin
LOCK := requirements/dev.txt
RUN := .venv/.run-$(VERSION)-$(PLACE)
DEV := .venv/.dev-$(VERSION)-$(PLACE)

ifneq ($(shell command -v uv),)
INSTALL := uv pip install --quiet --python $(BIN)/python --constraint $(LOCK)
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(LOCK)
endif

# A user of a container may have no home, or one that cannot be written. The model and the caches are kept in the clone then.
ifeq ($(shell test -w "$$HOME" && echo yes),)
$(shell mkdir -p .home)
export HOME := $(CURDIR)/.home
endif

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Thousands of processes import the package here: with its bytecode kept, that is half the time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo cells guard-demo test check lint types tests format bench eval-local eval-agentdojo eval-privacy docs fuzz slow crash crash-long soak interop interop-quick container container-quick elsewhere clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

demo: $(RUN) ## an agent with a real model does three small jobs on live objects
	@$(BIN)/python examples/demo.py $(ARGS)

cells: $(RUN) ## cells against live objects, attacks among them, and what happens
	@$(BIN)/python examples/cells.py $(ARGS)

guard-demo: $(RUN) ## a mailbox with a poisoned mail, a model that obeys it, and what the guard does
	@$(BIN)/python examples/mailbox.py $(ARGS)

test: lint ## lint, types and tests
	@$(MAKE) types >.venv/.types 2>&1 & types=$$!; $(MAKE) tests; tests=$$?; \
	wait $$types; types=$$?; cat .venv/.types; test $$tests = 0 && test $$types = 0

check: lint types ## lint and types only

lint: $(DEV)
	@echo "· lint"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "not formatted as above says: run \`make format\`"; exit 1; }

types: $(DEV)
	@echo "· types"
	@$(BIN)/python -m pyright --pythonpath $(BIN)/python

tests: $(DEV) ## the tests alone
	@echo "· tests"
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

format: $(DEV) ## rewrite the code as lint wants it
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

bench: $(DEV) ## measure; prints the table of docs/benchmarks.md
	@$(BIN)/python -m benchmarks $(ARGS)

eval-local: $(DEV) ## the small tasks on the embedded model, in code and in direct mode; about half an hour
	@$(BIN)/python -m cellwright models pull
	@$(BIN)/python -m evals.run --model local $(ARGS)

eval-agentdojo: $(DEV) ## AgentDojo's suites on the guard: injections that are obeyed, tasks without one; two minutes
	@$(BIN)/python -m evals.agentdojo $(ARGS)

eval-privacy: $(DEV) ## private data in generated records: ours beside Presidio; some minutes
	@$(BIN)/python -m evals.privacy $(ARGS)

docs: $(DEV) ## check the documents: their links, and that their snippets run
	@$(BIN)/python -m pytest -n $(JOBS) -m "slow or not slow" tests/docs $(ARGS)

fuzz: $(DEV) ## the long fuzzing runs, some minutes
	@$(BIN)/python -m pytest -n $(JOBS) -m fuzz $(ARGS)

slow: $(DEV) ## the real model, benchmarks, evals' solutions, interactive commands, outputs in docs; some minutes
	@echo "· slow tests"
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow $(ARGS)

crash: $(DEV) ## sessions that die some hundred times and are resumed, some minutes
	@echo "· crash tests"
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m crash $(ARGS)

crash-long: $(DEV) ## the same with some thousand deaths, half an hour
	@CRASH=long $(MAKE) crash

soak: $(DEV) ## 100 sessions with deaths and locks for 20 minutes, then one of 10,000 cells; prints a table; in no CI
	@$(BIN)/python -m tests.soak $(ARGS)

interop: $(DEV) ## with software we did not write: installs it, then drives it; some minutes
	@echo "· interop"
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m interop tests/interop $(ARGS)

interop-quick: $(DEV) ## the half of it that CI runs
	@echo "· interop"
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "interop and quick" tests/interop $(ARGS)

container: $(DEV) ## builds the image offline and tries it in docker, podman, bwrap and gVisor; some minutes
	@echo "· container"
	@$(BIN)/python -m tests.container $(ARGS)

container-quick: $(DEV) ## the half of it that CI runs
	@echo "· container"
	@$(BIN)/python -m tests.container --quick $(ARGS)

elsewhere: $(DEV) ## a sample below /tmp and, where you are root, as an ordinary user; two minutes
	@JOBS=$(JOBS) .ci/elsewhere

clean: ## remove .venv and what the tools leave behind
	@rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is made anew whenever the interpreter, the dependencies or their versions change, or the clone is moved:
# the scripts in .venv/bin name the place where they were made.
$(RUN): pyproject.toml $(LOCK)
	@test -n "$(VERSION)" || { echo "none of these is Python 3.11 to 3.13: $(PYTHONS); name one with PYTHON=…"; exit 1; }
	@echo "· making .venv with Python $(VERSION)"
	@rm -rf .venv
	@if command -v uv >/dev/null; then uv venv --quiet --no-project --python "$(BASE)" .venv; \
	elif "$(BASE)" -c 'import ensurepip' 2>/dev/null; then "$(BASE)" -m venv .venv; \
	elif "$(BASE)" -m pip --version >/dev/null 2>&1; then \
		"$(BASE)" -m venv --without-pip .venv && "$(BASE)" -m pip --python $(BIN)/python install --quiet pip; \
	else echo "this Python has neither ensurepip nor pip: install the package python3-venv, or uv"; exit 1; fi
	@echo "· installing cellwright (once, about half a minute)"
	@$(INSTALL) hatchling
	@$(INSTALL) --no-build-isolation --editable '.[check,local,models]'
	@requirements/libgomp $(BIN)/python
	@touch $@

$(DEV): $(RUN)
	@echo "· installing what development needs (once, about a minute)"
	@$(INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@
