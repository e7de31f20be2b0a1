# The targets of the project. `make` without arguments lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
# Other Pythons have their own environments: python3.12 has .venv-3.12.
VENV := .venv$(addprefix -,$(patsubst python%,%,$(filter-out python3 python,$(notdir $(PYTHON)))))
BIN := $(VENV)/bin
PIP := -m pip --disable-pip-version-check install
LOCKED := $(PIP) --require-hashes
# A folder is checked once it contains code.
CODE := src tests tools $(if $(wildcard benchmarks/*.py),benchmarks)
# Unit tests first: they are the fastest to fail.
TESTS := tests/unit $(wildcard tests/simulation tests/conformance)
TEST_JOBS ?= 2
# Packages that only the local cluster needs; the image of the operator omits them.
LOCAL_ONLY := cryptography cffi pycparser
TOOLS := etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok helm

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
	  | while IFS=$$'\t' read -r verb says; do printf '  %-22s %s\n' "make $$verb" "$$says"; done

##: setting up

.PHONY: setup
setup: $(VENV)/.installed ## Create .venv with the locked packages and tfjob
	@echo "setup: $(VENV) is up to date"

$(VENV)/.build: requirements/build.txt
	$(call new_venv,$(VENV))
	@$(BIN)/python $(LOCKED) --quiet -r requirements/build.txt
	@touch $@

# Without dependencies, which come with the locked packages or with those of the examples.
$(VENV)/.tfjob: $(VENV)/.build pyproject.toml
	@echo "setup 2/3: installing tfjob (editable)"
	@$(BIN)/python $(PIP) --no-build-isolation --no-deps --quiet -e .
	@touch $@

$(VENV)/.locked: $(VENV)/.build requirements/dev.txt
	@echo "setup 3/3: installing the locked packages"
	@$(BIN)/python $(LOCKED) -r requirements/dev.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.tfjob $(VENV)/.locked
	@touch $@

# $(1) is the folder. An older Python is reported before anything is created.
define new_venv
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  "tfjob needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Nothing was installed. " \
	  "Use a newer one: make setup PYTHON=python3.12" % sys.version_info[:2])'
	@echo "setup 1/3: $(1) with $$($(PYTHON) --version)"
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
endef

# The demo does not install what only tests and checks need.
$(VENV)/.examples: $(VENV)/.tfjob requirements/examples.txt
	@echo "setup 3/3: installing TensorFlow for the examples (a download of about 300 MB)"
	@$(BIN)/python $(LOCKED) --progress-bar on -r requirements/examples.txt
	@touch $@

# The kernel of a notebook needs TensorFlow and tfjob beside it.
$(VENV)/.notebooks: $(VENV)/.examples requirements/notebooks.txt
	@$(BIN)/python $(LOCKED) -r requirements/notebooks.txt
	@touch $@

##: trying

.PHONY: demo
demo: $(VENV)/.examples ## Set up, and train with parameter servers on this machine
	@$(BIN)/python -m tools.demo

.PHONY: e2e
e2e: setup .venv-sdk/.locked ## Test on a real cluster of one node, made for it (KEEP=1: keep it, ONLY=case, as root)
	@$(BIN)/python -m tests.support.node test $(if $(ONLY),-k '$(ONLY)')

.PHONY: e2e-up
e2e-up: setup ## Start that cluster and leave it running (as root)
	@$(BIN)/python -m tests.support.node up

.PHONY: e2e-down
e2e-down: setup ## End that cluster and check that nothing of it is left
	@$(BIN)/python -m tests.support.node down

.PHONY: e2e-local
e2e-local: setup $(VENV)/.examples $(VENV)/.notebooks .venv-sdk/.locked control-plane ## Test every example, the Kubeflow SDK, the takeover and 2,000 jobs without a node
	$(BIN)/pytest -v tests/e2e

.venv-sdk/.locked: requirements/sdk.txt
	$(call new_venv,.venv-sdk)
	@.venv-sdk/bin/python $(LOCKED) -r requirements/sdk.txt
	@touch $@

.PHONY: control-plane
control-plane: setup ## Build a real control plane from Go modules into the user's cache (once)
	@$(BIN)/python -m tests.support.controlplane.toolchain $(TOOLS) >/dev/null \
	  || echo "control-plane: SOME PARTS ARE NOT AVAILABLE; the tests that need them are skipped and say so"

##: checking

.PHONY: check
check: format-check lint types imports dead-code sizes mirror words prose generated-check scenarios-check seeds-check ## Run all static checks
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
	$(BIN)/vulture $(filter-out tests,$(CODE)) # use by tests alone does not count

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
scenarios-check: setup ## Check that a test shows every offline scenario
	$(BIN)/python -m tools.scenarios

.PHONY: seeds-check
seeds-check: setup
	$(BIN)/python -m tools.seeds

.PHONY: test
test: setup control-plane ## Set up, and run the tests
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} $(BIN)/pytest -n $(TEST_JOBS) $(TESTS)

SEED ?= 1
STEPS ?= 200
HISTORIES ?= 1000
JOBS ?= 2
.PHONY: simulate
simulate: setup ## Simulate histories of the controller (SEED=, HISTORIES=, STEPS=, JOBS=, MUTANTS=1, PROVE=1, WRITE=1)
	PYTHONPATH=src $(BIN)/python -m tools.simulate --seed $(SEED) --steps $(STEPS) \
	  --histories $(HISTORIES) --jobs $(JOBS) $(if $(MUTANTS),--mutants) $(if $(PROVE),--prove) \
	  $(if $(WRITE),--write)

# Parsing of untrusted bytes can differ between versions of Python.
PARSING := tests/unit/parsing tests/unit/k8s tests/unit/controller/test_job_object.py \
  tests/unit/controller/test_unparsed.py $(addprefix tests/unit/client/test_,errors.py http.py \
  kubeconfig.py pager.py watch.py watch_codec.py) tests/unit/dialects/test_field_reader.py
.PHONY: test-parsing
test-parsing: ## Run the tests of parsers on Python 3.12, 3.13 and 3.14
	@$(PYTHON) -m tools.pythons 3.12 3.13 3.14 -- -q -p no:cacheprovider $(PARSING)

.PHONY: e2e-schedulers
e2e-schedulers: setup control-plane ## Run gangs on Volcano, scheduler-plugins, kube-scheduler, Kueue and MultiKueue (ONLY=volcano, CASES=, WRITE=1)
	$(BIN)/python -m tests.schedulers $(if $(ONLY),--only $(ONLY)) $(if $(CASES),--cases $(CASES)) \
	  $(if $(WRITE),--write)

.PHONY: chaos
chaos: setup control-plane ## Kill operator, API server and etcd while 200 jobs run (SECONDS=600, SEED=)
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

##: supply chain

.PHONY: audit
audit: .venv-audit/.locked ## Look up known vulnerabilities of all locked packages (needs the Internet)
	@.venv-audit/bin/python -m tools.audit requirements/*.txt

.venv-audit/.locked: requirements/audit.txt
	$(call new_venv,.venv-audit)
	@.venv-audit/bin/python $(LOCKED) --quiet -r requirements/audit.txt
	@touch $@

VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/tfjob/__init__.py)
.PHONY: image
image: sbom ## Write the operator's image, dist/tfjob-VERSION.oci.tar, without a container engine (as root)
	@PYTHONPATH=src $(PYTHON) -m tools.image dist/tfjob-$(VERSION).oci.tar tfjob:$(VERSION)

.PHONY: sbom
sbom: ## Write the operator's bill of materials, dist/tfjob.cdx.json (CycloneDX)
	@mkdir -p dist
	@PYTHONPATH=src $(PYTHON) -m tools.sbom requirements/runtime.txt > dist/tfjob.cdx.json
	@echo "sbom: dist/tfjob.cdx.json"

FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: .venv-fuzz/.locked ## Fuzz the parsers (FUZZ_SECONDS=60 for each, ONLY="watch cel")
	@PYTHONPATH=src .venv-fuzz/bin/python -m tools.fuzz --seconds $(FUZZ_SECONDS) $(ONLY)

.venv-fuzz/.locked: requirements/fuzz.txt
	$(call new_venv,.venv-fuzz)
	@.venv-fuzz/bin/python $(LOCKED) --quiet -r requirements/fuzz.txt
	@touch $@

##: changing

.PHONY: format
format: setup ## Format the code and apply automatic fixes
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

.PHONY: generate
generate: setup ## Update the generated files
	$(BIN)/python -m tools.generate

.PHONY: lock
lock: .venv-lock/.locked ## Update requirements/*.txt (UPGRADE=1: with newer versions)
	$(call compile,dev,pyproject.toml --extra speed --extra kubeconfig --extra notebook --group dev)
	$(call compile,test,pyproject.toml --extra speed --extra kubeconfig --extra notebook --group test -c requirements/dev.txt)
	$(call compile,runtime,pyproject.toml --extra speed -c requirements/dev.txt $(addprefix --no-emit-package ,$(LOCAL_ONLY)))
	$(call compile,examples,pyproject.toml --extra examples -c requirements/dev.txt)
	$(call compile,notebooks,pyproject.toml --extra notebook --group notebooks -c requirements/dev.txt -c requirements/examples.txt)
	$(call compile,build,--group build -c requirements/dev.txt)
	$(call compile,bench,pyproject.toml --group bench -c requirements/dev.txt)
	$(call compile,mutate,pyproject.toml --group mutate -c requirements/runtime.txt)
	$(call compile,sdk,--group sdk)
	$(call compile,lock,--group lock)
	$(call compile,audit,--group audit)
	$(call compile,fuzz,pyproject.toml --group fuzz -c requirements/runtime.txt)

# $(1) names the lock file, $(2) its content. dev comes first: the others use its versions,
# except mutate, which needs an older pytest.
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
bench: $(VENV)/.bench control-plane ## Compare tfjob with the Go operator in all scenarios (BENCH="--quick": 5 minutes)
	$(BIN)/python -m benchmarks $(BENCH)

.PHONY: bench-check
bench-check: $(VENV)/.bench control-plane ## The same, and fail if a limit is exceeded
	$(BIN)/python -m benchmarks --check $(BENCH)

.PHONY: bench-core
bench-core: setup ## Measure the time of one decision
	$(BIN)/python -m benchmarks.bench_core

.PHONY: bench-local
bench-local: setup ## Measure the local cluster (BENCH="--check": fail if a limit is exceeded)
	$(BIN)/python -m benchmarks.bench_local $(BENCH)

.PHONY: bench-quick
bench-quick: $(VENV)/.bench control-plane ## A first impression in 5 minutes
	$(BIN)/python -m benchmarks --quick $(BENCH)

.PHONY: bench-citizen
bench-citizen: $(VENV)/.bench control-plane ## Measure the load on the API server at rest, under a quota and in a crash loop
	$(BIN)/python -m benchmarks.citizen $(BENCH)

.PHONY: causes
causes: $(VENV)/.bench control-plane ## Inject every cause into tfjob and the Go operator; writes docs/causes-measured.md
	$(BIN)/python -m benchmarks.causes

.PHONY: faults
faults: $(VENV)/.bench control-plane ## Inject the same faults into tfjob and the Go operator; writes docs/faults.md
	$(BIN)/python -m benchmarks.faults --write

.PHONY: bench-memory
bench-memory: $(VENV)/.bench control-plane ## Measure memory while 20,000 jobs come and go (BENCH="--jobs 4000")
	$(BIN)/python -m benchmarks.soak_memory $(BENCH)

.PHONY: mutate
mutate: .venv-mutate/.locked ## Mutate the core and list the mutants that no test detects (ONLY=pattern)
	.venv-mutate/bin/python -m tools.mutate $(if $(ONLY),'$(ONLY)')

.venv-mutate/.locked: requirements/mutate.txt requirements/build.txt
	$(call new_venv,.venv-mutate)
	@.venv-mutate/bin/python $(LOCKED) -r requirements/build.txt -r requirements/mutate.txt
	@touch $@
