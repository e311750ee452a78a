# Every target first sets up what it needs; `make` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
READY := $(VENV)/.ready
PYTEST := $(BIN)/pytest --quiet
# One process more than cores, as tests also wait. Each starts a Spark of its own, so more than a few only
# take each other's memory.
PROCESSES := $(shell cores=$$(nproc 2>/dev/null || echo 2); echo $$((cores < 3 ? cores + 1 : 4)))
PARALLEL := --numprocesses $(PROCESSES) --dist worksteal
# Without its caches Python compiles all tests anew in each process.
unexport PYTHONDONTWRITEBYTECODE
# What works on any kind of session.
ANYWHERE := tests/spark tests/joins tests/applications/test_on_spark.py tests/applications/trees/test_on_spark.py
# The tests of `make test`; those of `make check` are marked slow, those of `make soak` soak.
FAST := not slow and not soak and not benchmark
# What tests start that is not in the lock file (tools/components.py).
COMPONENTS := influxdb prometheus chromium kafka hadoop weed azurite-blob fake-gcs-server faketime airflow
PARTS :=
NAMES :=
# Programs that no Debian package has.
export PATH := $(CURDIR)/build/programs/bin:$(PATH)
KILLS := 100
MUTANTS := 100
# The shell splits it into words, and does not read the brackets of a case's options.
export WHAT := --commit HEAD --commit . -- route_and_place
SEED := 1
KAFKA := build/kafka
HADOOP := build/hadoop
SITE := build/site-env
RELEASE := build/release-env
PYTHONS :=
VERSIONS := 4.1 4.2 4.3 4.3-pandas-3
VERSIONED := build/spark-versions
CLASSES := build/java-classes.jsa
KERNELS := build/kernels.ready
LOCK := $(BIN)/uv pip compile --quiet --python-version 3.11 --python-platform linux --no-annotate --generate-hashes \
  --custom-compile-command "make lock"
IMAGE_EXTRAS := cli kafka influxdb prometheus
MAVEN := mvn --batch-mode --quiet -Dstyle.color=never --file connectors/pom.xml

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo test check faults soak connect kills mutants fast-mutants bounds bench compare freeze lint format types imports results lock grafana figures decisions \
  pictures reproduction site wheel environment release-check audit newcomer image-check setup-kafka kafka-up kafka-down setup-hadoop cluster spark-versions clean

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(READY) $(CLASSES) $(KERNELS) ## Set up .venv with the locked packages, including a Java, and prepare it for tests

demo: $(READY) ## Run a job that a hot key slows down and its balanced version, in a minute; it ends with a page to open
	@$(BIN)/python examples/demo.py build/demo

test: $(READY) $(CLASSES) $(KERNELS) ## Run the fast tests, which take several minutes: every subpackage, end-to-end tests, the README
	@$(PYTEST) $(PARALLEL) -m "$(FAST)"

check: lint imports results $(CLASSES) $(KERNELS) ## Check style, imports, types and figures of pages, and run the slow tests, which `make test` and `make soak` leave out
	@$(MAKE) --no-print-directory types & types=$$!; \
	$(PYTEST) $(PARALLEL) --junitxml=build/check.xml -m "slow and not soak and not benchmark"; tests=$$?; wait $$types && exit $$tests

faults: $(READY) $(CLASSES) $(KERNELS) ## Run only the tests that kill processes and break files
	@$(PYTEST) $(PARALLEL) -m "faults and not soak" tests || [ $$? -eq 5 ] # 5: no test is marked so

soak: $(READY) $(CLASSES) $(KERNELS) ## Run the tests that take minutes: clusters, stores, full disks, random kills; PARTS="clusters kafka" for some
	@$(BIN)/python -m tools.components $(COMPONENTS) || true
	@$(BIN)/python -m tools.soak $(PARTS)

connect: $(READY) $(CLASSES) $(KERNELS) ## Run the tests of operators, joins and applications on a classic session, then over Spark Connect
	@echo "On a classic session:"
	@$(PYTEST) $(PARALLEL) $(ANYWHERE)
	@echo "Over Spark Connect:"
	@EVENKEY_CONNECT=1 $(PYTEST) $(PARALLEL) $(ANYWHERE)

kills: $(READY) ## Kill runs at random, 100 times (KILLS=), by a schedule (SEED=), and check results; continues where it stopped
	@$(BIN)/python -m tests.kills --kills $(KILLS) --seed $(SEED)

mutants: $(READY) ## Test whether tests notice small wrong changes, 100 of them (MUTANTS=, SEED=); continues where it stopped
	@$(BIN)/python -m tools.mutants --seed $(SEED) --count $(MUTANTS)

fast-mutants: $(READY) $(CLASSES) $(KERNELS) ## Test whether the fast tier notices four of five small changes in each subpackage (SEED=); continues where it stopped
	@nice -n 19 $(BIN)/python -m tools.mutants --fast --seed $(SEED)

bounds: $(READY) ## Test kernels with checks of array bounds
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/checked-kernels $(PYTEST) $(PARALLEL) \
	  tests/groupings tests/sketches tests/metrics tests/simulation tests/aggregators tests/streams

bench: $(READY) ## Measure the speed of kernels and of routing
	@$(PYTEST) -m benchmark benchmarks || [ $$? -eq 5 ]

compare: $(READY) ## Compare two commits, or two ways, on an idle machine (WHAT="--commit HEAD --commit . -- command(messages=200000)")
	@set -f; $(BIN)/python -m tools.compare $$WHAT

freeze: $(READY) ## Rewrite the expected figures of the quality regression tests
	@$(BIN)/python -m tests.regression

lint: $(READY) ## Check style and format
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check

format: $(READY) ## Format the code and apply fixes
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

types: $(READY) ## Check the types
	@$(BIN)/mypy --no-error-summary

imports: $(READY) ## Check imports between subpackages
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { printf '%s\n' "$$report"; exit 1; }

results: $(READY) ## Check that figures of README and docs are those of their stored results; list results whose code has changed
	@$(BIN)/python -m tools.results check

lock: $(BIN)/python ## Update all packages to their newest versions and write the lock files
	@$(PIP) install uv
	@$(LOCK) --upgrade pyproject.toml --all-extras --output-file requirements.lock
	@$(LOCK) --upgrade --group site --output-file docs/requirements.lock
	@$(LOCK) --upgrade --group release --output-file .ci/requirements.lock
	@rm -f tools/image/requirements.lock
	@$(LOCK) pyproject.toml $(IMAGE_EXTRAS:%=--extra %) --constraint requirements.lock --output-file tools/image/requirements.lock

grafana: $(READY) ## Write Grafana's dashboards into grafana/
	@$(BIN)/python -m tools.grafana_dashboards grafana/dashboards

figures: $(READY) ## Write the table of all metrics into docs/figures.md
	@$(BIN)/python -m tools.figures_table docs/figures.md

decisions: $(READY) ## Write the index of the decision records, by topic, into docs/decisions/README.md
	@$(BIN)/python -m tools.decisions

pictures: $(READY) ## Draw the charts and take the screenshots of README and docs anew (NAMES="advice figure" for some)
	@$(BIN)/python -m tools.pictures $(NAMES)

reproduction: $(READY) ## Write the pages on the papers' results, from RESULTS= of COMMIT=, or from the stored results
	@$(BIN)/python -m tools.reproduction $(RESULTS) $(COMMIT)

site: $(READY) $(SITE)/.ready ## Build the documentation site into build/site; warnings are errors, the network is not needed
	@$(BIN)/python -m tools.site build/site-pages
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict
	@echo "Read it: python3 -m http.server --bind 127.0.0.1 --directory build/site 8000"

wheel: $(READY) ## Build the wheel into build/dist
	@$(PIP) wheel --no-deps --wheel-dir build/dist .

environment: $(READY) ## Build build/kernels.tar.gz, an archive that brings executors the compiler of some groupings (docs/platforms.md)
	@rm -rf build/kernels
	@$(PIP) install --no-deps --target build/kernels . $$(grep -oE '^(llvmlite|numba)==[^ ;]+' requirements.lock)
	@tar -czf build/kernels.tar.gz -C build/kernels .

release-check: $(RELEASE)/.ready ## Build the archives, try core and each extra in empty environments (PYTHONS=), check what services read
	@$(RELEASE)/bin/python -m tools.release build/release $(PYTHONS)
	@for check in github-workflows:.github/workflows/*.yml github-issue-forms:.github/ISSUE_TEMPLATE/*-*.yml \
	  github-issue-config:.github/ISSUE_TEMPLATE/config.yml citation-file-format:CITATION.cff compose-spec:compose.yaml; do \
	  $(RELEASE)/bin/check-jsonschema --builtin-schema vendor.$${check%%:*} $${check#*:} || exit 1; done

audit: $(RELEASE)/.ready ## Look up known vulnerabilities of all locked packages; asks PyPI about each of them
	@for lock in requirements.lock docs/requirements.lock .ci/requirements.lock tools/image/requirements.lock; do \
	  $(RELEASE)/bin/pip-audit --progress-spinner off --require-hashes --disable-pip --requirement $$lock || failed=1; \
	done; test -z "$$failed"

newcomer: $(RELEASE)/.ready ## Time the steps from a wheel and an empty environment to a first balanced applyInPandas
	@$(RELEASE)/bin/python -m tools.release.newcomer build/release

image-check: $(KAFKA)/.ready ## Run the steps of the Dockerfile without Docker, and run evenkey there; needs root and mmdebstrap
	@tools/image/check.sh build/image/root

setup-kafka: $(KAFKA)/.ready ## Fetch the jars of Spark's Kafka connector and of a broker, with Maven

kafka-up: $(READY) $(KAFKA)/.ready ## Start a Kafka broker on 127.0.0.1:9092 (EVENKEY_KAFKA_PORT)
	@$(BIN)/python tools/kafka_broker.py up

kafka-down: $(READY) ## Stop that broker; its topics stay in build/kafka/run
	@$(BIN)/python tools/kafka_broker.py down

setup-hadoop: $(HADOOP)/.ready ## Fetch the jars for S3 and HDFS, with Maven

cluster: $(READY) $(HADOOP)/.ready ## Run the tests on separate hosts: namespaces of this machine, which need root
	@$(PYTEST) --numprocesses 0 -m soak tests/cluster tests/stores

spark-versions: $(VERSIONS:%=$(VERSIONED)/%/.ready) ## Test operators and joins on the newest patch of each Spark (VERSIONS=), in two time zones, and with pandas 3
	@$(BIN)/python tools/spark_versions.py $(VERSIONED) $(VERSIONS) $(PARALLEL)

clean: ## Remove .venv and everything built or cached
	@rm -rf $(VENV) build dist spark-warehouse metastore_db derby.log \
	  .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
	@find src tests -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) tools/require_python.py
	@$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml requirements.lock | $(BIN)/python
	@echo "Setting up $(VENV) ..." >&2
	@$(PIP) install --no-compile --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(SITE)/.ready: docs/requirements.lock
$(RELEASE)/.ready: .ci/requirements.lock
$(SITE)/.ready $(RELEASE)/.ready: | $(BIN)/python
	@echo "Setting up $(@D) ..." >&2
	@$(BIN)/python -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $<
	@touch $@

$(VERSIONED)/%/.ready: $(READY)
	@echo "Setting up Spark $* in $(@D) ..." >&2
	$(eval pinned := $(patsubst %,pyspark==%.*,$(firstword $(subst -pandas-, ,$*))) $(patsubst %,pandas==%.*,$(or $(word 2,$(subst -pandas-, ,$*)),2)))
	@$(PIP) install uv
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(@D)
	@awk '/^[^ ]/ { kept = !/^(pyspark|py4j|pandas)==/ } kept' requirements.lock >$(@D)/packages.txt
	@$(BIN)/uv pip install --quiet --upgrade-package pyspark --python $(@D)/bin/python \
	  --requirement $(@D)/packages.txt $(pinned:%='%')
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

# Side by side: each takes one core for half a minute.
$(CLASSES) $(KERNELS) &: $(READY) $(shell find src -name _kernels.py) tools/kernels.py tools/java_classes.py tools/spark_home.py
	@mkdir -p $(@D)
	@$(BIN)/python -m tools.kernels & kernels=$$!; \
	report=$$($(BIN)/python -m tools.java_classes $(CLASSES) 2>&1) || { printf '%s\n' "$$report"; exit 1; }; \
	wait $$kernels && touch $(KERNELS)

$(KAFKA)/.ready: connectors/pom.xml
	@command -v mvn >/dev/null || { echo "error: install Maven (mvn), which fetches the jars" >&2; exit 1; }
	@rm -rf $(KAFKA)/connector $(KAFKA)/broker
	@for part in connector broker; do echo "Fetching the jars of the $$part ..." >&2; \
	  $(MAVEN) --activate-profiles $$part dependency:copy-dependencies -DincludeScope=runtime \
	    -DoutputDirectory=$(CURDIR)/$(KAFKA)/$$part || exit 1; done
	@touch $@

$(HADOOP)/.ready: connectors/pom.xml
	@command -v mvn >/dev/null || { echo "error: install Maven (mvn), which fetches the jars" >&2; exit 1; }
	@rm -rf $(HADOOP)/s3a $(HADOOP)/hdfs
	@for part in s3a hdfs; do echo "Fetching the jars of $$part ..." >&2; \
	  $(MAVEN) --activate-profiles $$part dependency:copy-dependencies -DincludeScope=runtime \
	    -DoutputDirectory=$(CURDIR)/$(HADOOP)/$$part || exit 1; done
	@touch $@
