# Every target first makes or refreshes the environment (under a second when nothing changed).
STAGE ?= prod
FUZZ_SECONDS ?= 600
PYTHON314 ?= python3.14
PROVE_SECONDS ?= 600
MODEL_HISTORIES ?= 12000
AT ?= 2027-03-28 00:52
TESTS ?=
PORT ?= 8000
# Where this is set, each of the tests' many processes compiles what it imports: seven seconds for the CDK alone.
export PYTHONDONTWRITEBYTECODE =
BIN := .venv/bin
CDK := node_modules/.bin/cdk
UV = $(shell command -v uv || echo .tools/bin/uv)
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock" $(LOCK_OPTIONS)

# What `make test-all` adds is marked in tests/tiers.py.
SHORT = "not extended and not fuzz"
SBOM = PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --output-reproducible

.DEFAULT_GOAL := help
.PHONY: help setup demo local lint test test-all unit-tests short-tests test-314 types-314 wheels-314 test-cron test-at check fmt synth bench numbers bench-flood bench-slow bench-lanes bench-lanes-long bench-wait-queue bench-limits bench-hops bench-console drill pictures site docs openapi fuzz faults model prove prove-mutants record-release release deploy lock audit-locks sbom clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1|/' | awk -F'|' '{printf "make %-16s %s\n", $$1, $$2}'

setup: ## create or update .venv and node_modules from the lock files, and the generated files
	@scripts/setup.sh

demo: setup ## run the whole system on this machine for two minutes and show each run of four jobs
	@$(BIN)/duecourse demo

local: setup ## run the whole system on this machine until Ctrl-C; its data are kept (AUTH=1: with tokens)
	@$(BIN)/duecourse local $(if $(AUTH),--auth)

check: setup ## check format, lint, types and imports, and run the unit tests (2 minutes on two cores)
	@$(MAKE) --no-print-directory -j 2 lint unit-tests

test: setup ## run the checks and tests of every part (4 minutes on two cores, 5 the first time)
	@$(MAKE) --no-print-directory -j 2 lint short-tests

test-all: setup ## run everything that `make test` leaves out, see tests/tiers.py (more than an hour)
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m "extended and not fuzz" --ignore tests/property --ignore schedules/tests/property  # files in their order, the long ones first
	$(BIN)/pytest -n 2 --hypothesis-profile long tests/property schedules/tests/property --ignore tests/property/test_workflow_protocol.py  # `model` has all of it
	@$(MAKE) --no-print-directory -j 2 model types-314 test-314 wheels-314 MODEL_STATES=300000 MODEL_HISTORIES=300

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@npm run --silent check --workspaces
	@npm run --silent test --workspaces

unit-tests:
	$(BIN)/pytest -q -n 2 -m $(SHORT) tests/unit schedules/tests/unit

short-tests:
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m $(SHORT)  # some wait more than they work

test-314: setup ## run the unit tests with Lambda's Python, if it is on the PATH (PYTHON314=python3.14; 1 minute)
	@$(BIN)/python -m scripts.lambda_python tests $(PYTHON314)

types-314: setup ## check the types for Lambda's Python (1 minute without a cache)
	$(BIN)/mypy --python-version 3.14

wheels-314: setup ## check that each package of the layer has a wheel for Lambda's Python and processor
	@$(BIN)/python -m scripts.lambda_python wheels

fmt: setup ## format the code and fix lint errors with ruff
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test-cron: setup ## compare schedules with Debian's cron (needs root, cron and cc; 1 minute)
	$(BIN)/pytest schedules/tests/integration/test_debian_cron.py

test-at: setup ## run the tests with the clock at AT="2027-03-28 00:52" (UTC; TESTS=tests/e2e: these; 20 minutes)
	@mkdir -p .build && cc -shared -fPIC -O1 -o .build/moved_clock.so tests/support/moved_clock.c
	at=$$(date -u -d "$(AT)" +%s) && CLOCK_SHIFT=$$((at - $$(date +%s))) LD_PRELOAD=$(CURDIR)/.build/moved_clock.so \
		$(BIN)/pytest -n 3 --no-loadscope-reorder -m "not fuzz" $(TESTS)

synth: setup ## write the template of STAGE (prod) to cdk.out (needs no AWS account)
	@$(CDK) synth --quiet -c stage=$(STAGE)
	@echo "cdk.out/Duecourse-$(STAGE).template.json is written"

bench: setup ## measure every budget and write benchmarks/RESULTS.md (BENCH="--only cost" measures one)
	$(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/bench.txt
	$(BIN)/python -m benchmarks.results $(BENCH)

numbers: setup ## write the measured numbers into RESULTS.md, README and docs from benchmarks/results
	$(BIN)/python -m benchmarks.results --only

bench-flood: setup ## local stack: measure a tenant while another one floods the API (1 minute)
	$(BIN)/python -m benchmarks.flood

bench-slow: setup ## local stack: measure the effect of one tenant's slow targets, with and without seats (7 minutes)
	$(BIN)/python -m benchmarks.slow

bench-lanes: setup ## local stack: measure high and normal runs while 2,000 low runs wait (6 minutes)
	$(BIN)/python -m benchmarks.lanes

bench-lanes-long: setup ## the same with 10,000 low runs (15 minutes)
	$(BIN)/python -m benchmarks.lanes --low 10000 --probes 90

bench-wait-queue: setup ## local stack: measure a wait queue of 20 runs (4 minutes)
	$(BIN)/python -m benchmarks.wait_queue

bench-limits: setup ## local stack: measure a concurrency key with 10,000 waiting runs and with workers that die (28 minutes)
	$(BIN)/python -m benchmarks.limits

bench-hops: setup ## local stack: measure workflows, with 1,000 steps and with workers that die (7 minutes)
	$(BIN)/python -m benchmarks.hops

bench-console: setup ## measure the console's first page and a list of 10,000 jobs in a browser (3 minutes)
	$(BIN)/python -m benchmarks.console

openapi: setup ## write the table of docs/api.md; setup writes the other generated files: openapi.json, clients, console's targets
	@$(BIN)/python -m scripts.openapi docs/api.md

fuzz: setup ## send random requests to the API for 10 minutes (FUZZ_SECONDS=600), and run the random tests
	DUECOURSE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -m fuzz
	$(BIN)/pytest -n 2 --hypothesis-profile drawn tests/unit tests/property schedules/tests

faults: setup ## write tests/fixtures/faults.md, the effect of each fault at each write (STORIES="fires retries": these two)
	$(BIN)/python -m tests.support.fault_table $(STORIES)

model: setup ## try every order of steps of workflows and wait queues (MODEL_STATES=300000: the bound of each case)
	$(BIN)/python -m tests.support.workflow_model $(MODEL_STATES)
	$(BIN)/python -m tests.support.wait_queue_search $(MODEL_HISTORIES)

prove: setup ## run random histories on a simulated cloud for 10 minutes (PROVE_SECONDS=600; SEED=7 repeats one)
	$(BIN)/python -m tests.prove $(if $(SEED),--seed $(SEED) --histories 1,--seconds $(PROVE_SECONDS))

prove-mutants: setup ## plant faults into a copy of the package and list the promises that detect them (30 minutes)
	$(BIN)/python -m tests.prove.mutants

drill: setup ## local stack: play disaster drills with the commands of the docs (DRILLS="queue items"; over an hour)
	@$(BIN)/python -m scripts.drill $(DRILLS)

record-release: setup ## store this release's data for the tests of later releases: make record-release NAME=1.1.0
	$(BIN)/python -m tests.support.record_release $(NAME)

release: setup ## build the packages and duecourse-VERSION-prod.tgz in .build/release (3 minutes)
	@$(BIN)/python -m scripts.release

deploy: setup ## deploy to the AWS account of your credentials with settings/prod.json: make deploy STAGE=prod
	@$(BIN)/python -m scripts.deploy -c stage=$(STAGE) $(SETTINGS)

lock: setup ## resolve the lock files (LOCK_OPTIONS=--upgrade for newer versions)
	$(COMPILE) requirements/uv.in -o requirements/uv.txt
	$(COMPILE) layers/dependencies/requirements.in -o layers/dependencies/requirements.txt
	$(COMPILE) requirements/dev.in -o requirements/dev.txt
	$(COMPILE) requirements/bench.in -o requirements/bench.txt
	$(COMPILE) requirements/audit.in -o requirements/audit.txt
	npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error
	node -e 'const fs = require("fs"), lock = JSON.parse(fs.readFileSync("package-lock.json")); for (const name in lock.packages) delete lock.packages[name].funding; fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n")'
	@! grep -nE '://' layers/dependencies/requirements.txt requirements/dev.txt requirements/bench.txt \
		requirements/audit.txt requirements/uv.txt package-lock.json

audit-locks: setup ## list known vulnerabilities of all locked packages; databases that cannot be reached are skipped
	@$(BIN)/python -m scripts.audit_locks

pictures: setup ## take the pictures of the console for the documentation (SIZES=all: also of a phone, dark, ...)
	DUECOURSE_PICTURES=docs/pictures DUECOURSE_SIZES=$(SIZES) $(BIN)/pytest -q tests/console/test_pictures.py

site: setup ## build the documentation as a site in .build/site
	@$(BIN)/python -m scripts.site_pages .build
	@$(BIN)/zensical build --clean --strict --config-file .build/zensical.toml

docs: site ## build the site and serve it with its search on this machine until Ctrl-C (PORT=8000)
	@echo "open http://127.0.0.1:$(PORT)/"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory .build/site $(PORT) 2>/dev/null || true

sbom: setup ## write bills of materials (CycloneDX) to .build/sbom
	@$(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/audit.txt
	@mkdir -p .build/sbom
	@$(SBOM) layers/dependencies/requirements.txt --pyproject pyproject.toml -o .build/sbom/functions.cdx.json
	@$(SBOM) requirements/dev.txt -o .build/sbom/development.cdx.json
	@npm sbom --sbom-format cyclonedx --package-lock-only --loglevel=error > .build/sbom/node.cdx.json
	@echo "in .build/sbom: functions.cdx.json (what is deployed), development.cdx.json, node.cdx.json"

clean: ## remove what was built; the data of the local stack are kept
	rm -rf .venv .tools node_modules cdk.out .build .mypy_cache .pytest_cache .ruff_cache .grimp_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
