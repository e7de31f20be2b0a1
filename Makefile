# The verbs of the house. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
# Another Python has an environment of its own: python3.12 has .venv-3.12.
VENV := .venv$(addprefix -,$(patsubst python%,%,$(filter-out python3 python,$(notdir $(PYTHON)))))
BIN := $(VENV)/bin
PIP := -m pip --disable-pip-version-check install
LOCKED := $(PIP) --require-hashes
# A folder enters the checks as soon as it holds code.
CODE := src tests tools $(if $(wildcard benchmarks/*.py),benchmarks)
# Units first: what needs nothing fails soonest.
TESTS := tests/unit $(wildcard tests/simulation tests/conformance)
TEST_JOBS ?= 2
# Packages that only the local cluster needs; the operator's image goes without them.
LOCAL_ONLY := cryptography cffi pycparser
TOOLS := etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok helm

.PHONY: help
help: ## List the verbs
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
	  | while IFS=$$'\t' read -r verb says; do printf '  %-22s %s\n' "make $$verb" "$$says"; done

##: setting up

.PHONY: setup
setup: $(VENV)/.installed ## Make .venv with everything locked and tfjob in it
	@echo "setup: $(VENV) is current"

$(VENV)/.build: requirements/build.txt
	$(call new_venv,$(VENV))
	@$(BIN)/python $(LOCKED) --quiet -r requirements/build.txt
	@touch $@

# Without what it needs, which comes with the locked packages or with those of the examples.
$(VENV)/.tfjob: $(VENV)/.build pyproject.toml
	@echo "setup 2/3: installing tfjob itself, editable"
	@$(BIN)/python $(PIP) --no-build-isolation --no-deps --quiet -e .
	@touch $@

$(VENV)/.locked: $(VENV)/.build requirements/dev.txt
	@echo "setup 3/3: installing the locked packages"
	@$(BIN)/python $(LOCKED) -r requirements/dev.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.tfjob $(VENV)/.locked
	@touch $@

# $(1) is the folder. An older Python is told so before anything is made.
define new_venv
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  "tfjob needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Nothing was installed. " \
	  "Name a newer one: make setup PYTHON=python3.12" % sys.version_info[:2])'
	@echo "setup 1/3: $(1) with $$($(PYTHON) --version)"
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
endef

# Who only wants to see it work does not wait for what only tests and checks need.
$(VENV)/.examples: $(VENV)/.tfjob requirements/examples.txt
	@echo "setup 3/3: installing TensorFlow for the examples (about 300 MB to load)"
	@$(BIN)/python $(LOCKED) --progress-bar on -r requirements/examples.txt
	@touch $@

##: trying

.PHONY: demo
demo: $(VENV)/.examples ## Set up and train with parameter servers on this machine
	@$(BIN)/python -m tools.demo

.PHONY: e2e
e2e: setup $(VENV)/.examples .venv-sdk/.locked control-plane ## Run every example, the Kubeflow SDK, the hand-over and 2,000 jobs
	$(BIN)/pytest -v tests/e2e

.venv-sdk/.locked: requirements/sdk.txt
	$(call new_venv,.venv-sdk)
	@.venv-sdk/bin/python $(LOCKED) -r requirements/sdk.txt
	@touch $@

.PHONY: control-plane
control-plane: setup ## Build a real control plane from Go modules into the user's cache, once
	@$(BIN)/python -m tests.support.controlplane.toolchain $(TOOLS) >/dev/null \
	  || echo "control-plane: NOT ALL OF IT COULD BE HAD; the tests that need it say so and are skipped"

##: checking

.PHONY: check
check: format-check lint types imports dead-code sizes mirror words prose generated-check scenarios-check seeds-check ## Everything that reads the code without running it
	@echo "check: clean"

.PHONY: format-check
format-check: setup
	$(BIN)/ruff format --check $(CODE)

.PHONY: lint
lint: setup
	$(BIN)/ruff check $(CODE)

.PHONY: types
types: setup
	$(BIN)/mypy $(CODE)

.PHONY: imports
imports: setup
	$(BIN)/lint-imports

.PHONY: dead-code
dead-code: setup
	$(BIN)/vulture $(CODE)
	$(BIN)/vulture $(filter-out tests,$(CODE)) # a test alone keeps nothing alive

.PHONY: sizes
sizes: setup
	$(BIN)/python -m tools.sizes $(CODE)

.PHONY: mirror
mirror: setup
	$(BIN)/python -m tools.mirror

.PHONY: words
words: setup
	$(BIN)/python -m tools.words

.PHONY: prose
prose: setup
	$(BIN)/python -m tools.prose

.PHONY: generated-check
generated-check: setup
	$(BIN)/python -m tools.generate --check

.PHONY: scenarios-check
scenarios-check: setup ## Every offline scenario of the contract is shown by a test
	$(BIN)/python -m tools.scenarios

.PHONY: seeds-check
seeds-check: setup
	$(BIN)/python -m tools.seeds

.PHONY: test
test: setup control-plane ## Set up and run the tests
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} $(BIN)/pytest -n $(TEST_JOBS) $(TESTS)

SEED ?= 1
STEPS ?= 200
HISTORIES ?= 1000
JOBS ?= 2
.PHONY: simulate
simulate: setup ## Simulate histories of the controller (SEED=, HISTORIES=, STEPS=, JOBS=, MUTANTS=1)
	PYTHONPATH=src $(BIN)/python -m tools.simulate --seed $(SEED) --steps $(STEPS) \
	  --histories $(HISTORIES) --jobs $(JOBS) $(if $(MUTANTS),--mutants)

# What parses bytes of others behaves differently from one Python to the next.
PARSING := tests/unit/parsing tests/unit/k8s tests/unit/controller/test_job_object.py \
  tests/unit/controller/test_unparsed.py $(addprefix tests/unit/client/test_,errors.py http.py \
  kubeconfig.py pager.py watch.py watch_codec.py) tests/unit/dialects/test_field_reader.py
.PHONY: test-parsing
test-parsing: ## Run the tests of what parses bytes of others on Python 3.12, 3.13 and 3.14
	@$(PYTHON) -m tools.pythons 3.12 3.13 3.14 -- -q -p no:cacheprovider $(PARSING)

.PHONY: chaos
chaos: setup control-plane ## Kill operator, API server and etcd under 200 jobs (SECONDS=600, SEED=)
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

##: supply chain

.PHONY: audit
audit: .venv-audit/.locked ## Look up known vulnerabilities of everything that is locked (needs the Internet)
	@.venv-audit/bin/python -m tools.audit requirements/*.txt

.venv-audit/.locked: requirements/audit.txt
	$(call new_venv,.venv-audit)
	@.venv-audit/bin/python $(LOCKED) --quiet -r requirements/audit.txt
	@touch $@

.PHONY: sbom
sbom: ## Write the bill of materials of the operator, dist/tfjob.cdx.json (CycloneDX)
	@mkdir -p dist
	@PYTHONPATH=src $(PYTHON) -m tools.sbom requirements/runtime.txt > dist/tfjob.cdx.json
	@echo "sbom: dist/tfjob.cdx.json"

FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: .venv-fuzz/.locked ## Feed random bytes to the parsers, FUZZ_SECONDS each (60), ONLY="watch cel" for some
	@PYTHONPATH=src .venv-fuzz/bin/python -m tools.fuzz --seconds $(FUZZ_SECONDS) $(ONLY)

.venv-fuzz/.locked: requirements/fuzz.txt
	$(call new_venv,.venv-fuzz)
	@.venv-fuzz/bin/python $(LOCKED) --quiet -r requirements/fuzz.txt
	@touch $@

##: changing

.PHONY: format
format: setup ## Format the code and mend what can be mended by itself
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

.PHONY: generate
generate: setup ## Write the generated files anew
	$(BIN)/python -m tools.generate

.PHONY: lock
lock: .venv-lock/.locked ## Write requirements/*.txt anew (UPGRADE=1: with newer versions)
	$(call compile,dev,pyproject.toml --extra speed --extra kubeconfig --group dev)
	$(call compile,test,pyproject.toml --extra speed --extra kubeconfig --group test -c requirements/dev.txt)
	$(call compile,runtime,pyproject.toml --extra speed -c requirements/dev.txt $(addprefix --no-emit-package ,$(LOCAL_ONLY)))
	$(call compile,examples,pyproject.toml --extra examples -c requirements/dev.txt)
	$(call compile,build,--group build -c requirements/dev.txt)
	$(call compile,bench,pyproject.toml --group bench -c requirements/dev.txt)
	$(call compile,mutate,pyproject.toml --group mutate -c requirements/runtime.txt)
	$(call compile,sdk,--group sdk)
	$(call compile,lock,--group lock)
	$(call compile,audit,--group audit)
	$(call compile,fuzz,pyproject.toml --group fuzz -c requirements/runtime.txt)

# $(1) names the lock, $(2) says what goes in. dev comes first: the others follow its versions,
# but for mutate, whose pytest is held back.
define compile
	@echo "lock: requirements/$(1).txt"
	@.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate $(if $(UPGRADE),--upgrade) \
	  -o requirements/$(1).txt $(2)
endef

.venv-lock/.locked: requirements/lock.txt
	$(call new_venv,.venv-lock)
	@.venv-lock/bin/python $(LOCKED) -r requirements/lock.txt
	@touch $@

##: measuring

$(VENV)/.bench: $(VENV)/.installed requirements/bench.txt
	@$(BIN)/python $(LOCKED) -r requirements/bench.txt
	@touch $@

.PHONY: bench
bench: $(VENV)/.bench control-plane ## tfjob beside the Go operator, all scenarios (BENCH="--quick": within 5 minutes)
	$(BIN)/python -m benchmarks $(BENCH)

.PHONY: bench-check
bench-check: $(VENV)/.bench control-plane ## The same, and fail when a limit is broken
	$(BIN)/python -m benchmarks --check $(BENCH)

.PHONY: bench-core
bench-core: setup ## How long one decision takes
	$(BIN)/python -m benchmarks.bench_core

.PHONY: bench-local
bench-local: setup ## The local cluster beside its limits (BENCH="--check": fail when one is broken)
	$(BIN)/python -m benchmarks.bench_local $(BENCH)

.PHONY: bench-quick
bench-quick: $(VENV)/.bench control-plane ## A first impression within 5 minutes
	$(BIN)/python -m benchmarks --quick $(BENCH)

.PHONY: bench-citizen
bench-citizen: $(VENV)/.bench control-plane ## What the API server bears at rest, under a quota and in a crash loop
	$(BIN)/python -m benchmarks.citizen $(BENCH)

.PHONY: faults
faults: $(VENV)/.bench control-plane ## The same faults on tfjob and on the Go operator; writes docs/faults.md
	$(BIN)/python -m benchmarks.faults --write

.PHONY: bench-memory
bench-memory: $(VENV)/.bench control-plane ## Memory while 20,000 jobs come and go (BENCH="--jobs 4000")
	$(BIN)/python -m benchmarks.soak_memory $(BENCH)

.PHONY: mutate
mutate: .venv-mutate/.locked ## Break the core on purpose and list the breaks that no test notices (ONLY=pattern)
	.venv-mutate/bin/python -m tools.mutate $(if $(ONLY),'$(ONLY)')

.venv-mutate/.locked: requirements/mutate.txt requirements/build.txt
	$(call new_venv,.venv-mutate)
	@.venv-mutate/bin/python $(LOCKED) -r requirements/build.txt -r requirements/mutate.txt
	@touch $@
