# Every target first makes or refreshes the environment (under a second when nothing changed).
STAGE ?= prod
FUZZ_SECONDS ?= 600
PYTHON314 ?= python3.14
PROVE_SECONDS ?= 600
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
.PHONY: help setup demo local lint test test-all unit-tests short-tests test-314 types-314 wheels-314 test-cron check fmt synth bench numbers bench-flood bench-slow bench-lanes bench-lanes-long bench-line bench-hops bench-console pictures docs openapi fuzz faults model prove prove-mutants record-release deploy lock audit-locks sbom clean

help: ## show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1|/' | awk -F'|' '{printf "make %-16s %s\n", $$1, $$2}'

setup: ## make or refresh .venv and node_modules from the locks
	@scripts/setup.sh

demo: setup ## the whole system on this machine for two minutes, four jobs, every run shown
	@$(BIN)/duecourse demo

local: setup ## the whole system on this machine until Ctrl-C; it keeps its data
	@$(BIN)/duecourse local

check: setup ## format, lint, types, imports, unit tests: two minutes on two cores
	@$(MAKE) --no-print-directory -j 2 lint unit-tests

test: setup ## the checks, and tests of every part: five minutes on two cores
	@$(MAKE) --no-print-directory -j 2 lint short-tests

test-all: setup ## everything that `make test` leaves out (tests/tiers.py): half an hour
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m "extended and not fuzz" --ignore tests/property  # files in their order, the long ones first
	$(BIN)/pytest -n 2 --hypothesis-profile long tests/property
	@$(MAKE) --no-print-directory model MODEL_STATES=300000
	@$(MAKE) --no-print-directory types-314 test-314 wheels-314

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@npm run --silent check --workspaces
	@npm run --silent test --workspaces

unit-tests:
	$(BIN)/pytest -q -n 2 -m $(SHORT) tests/unit

short-tests:
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m $(SHORT)  # some wait more than they work

test-314: setup ## the unit tests with Lambda's Python, if it is on the PATH (PYTHON314=python3.14); a minute
	@$(BIN)/python -m scripts.lambda_python tests $(PYTHON314)

types-314: setup ## types for Lambda's Python; a minute without its cache
	$(BIN)/mypy --python-version 3.14

wheels-314: setup ## check that each package of the layer has a wheel for Lambda's Python and processor
	@$(BIN)/python -m scripts.lambda_python wheels

fmt: setup ## let ruff format and fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test-cron: setup ## compare with Debian's own cron (root, cron and cc needed; a minute)
	$(BIN)/pytest tests/integration/test_debian_cron.py

synth: setup ## write the prod template to cdk.out (no account needed)
	@$(CDK) synth --quiet -c stage=prod
	@echo "cdk.out/Duecourse-prod.template.json is written"

bench: setup ## measure every budget, write benchmarks/RESULTS.md (BENCH="--only cost": that one alone)
	$(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/bench.txt
	$(BIN)/python -m benchmarks.results $(BENCH)

numbers: setup ## write benchmarks/RESULTS.md and the marked numbers of README and docs from benchmarks/results; seconds
	$(BIN)/python -m benchmarks.results --only

bench-flood: setup ## one tenant floods the API of the local stack, another asks: a minute
	$(BIN)/python -m benchmarks.flood

bench-slow: setup ## slow targets of one tenant, without seats and with them, as another one feels them: seven minutes
	$(BIN)/python -m benchmarks.slow

bench-lanes: setup ## the lanes on the local stack: 2,000 low runs wait, high and normal ones start in time; six minutes
	$(BIN)/python -m benchmarks.lanes

bench-lanes-long: setup ## the same with 10,000 low runs, ninety of each other lane; a quarter of an hour
	$(BIN)/python -m benchmarks.lanes --low 10000 --probes 90

bench-line: setup ## a line of 20 runs on the local stack: when the next one starts, what a wait costs; four minutes
	$(BIN)/python -m benchmarks.line

bench-hops: setup ## workflows on the local stack: from a job to the next, 1,000 jobs in one PUT, 500 side by side whose workers die; seven minutes
	$(BIN)/python -m benchmarks.hops

bench-console: setup ## the console's first page and a list of 10,000 jobs, as a browser loads them; three minutes
	$(BIN)/python -m benchmarks.console

openapi: setup ## write what is made from the API's code: openapi.json, docs/api.md, the clients' methods, the console's targets
	$(BIN)/python -m duecourse.api.openapi docs/api.md
	$(BIN)/python -m scripts.client_code
	$(BIN)/python -m scripts.console_kinds

fuzz: setup ## by chance: the API against its own document for ten minutes (FUZZ_SECONDS=600), all that is drawn elsewhere
	DUECOURSE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -m fuzz
	$(BIN)/pytest -n 2 --hypothesis-profile drawn tests/unit tests/property

faults: setup ## write tests/fixtures/faults.md: each write of each story meets each fault (STORIES="fires retries": those alone)
	$(BIN)/python -m tests.support.fault_table $(STORIES)

model: setup ## workflows' protocol: every order of the steps over small graphs, larger ones at random (MODEL_STATES=300000: so many states of a case)
	$(BIN)/python -m tests.support.workflow_model $(MODEL_STATES)

prove: setup ## the real handlers against a simulated cloud, histories by chance for ten minutes (PROVE_SECONDS=600, SEED=7: that one alone)
	$(BIN)/python -m tests.prove $(if $(SEED),--seed $(SEED) --histories 1,--seconds $(PROVE_SECONDS))

prove-mutants: setup ## faults planted into a copy of the package, and by which promise histories detect each; half an hour
	$(BIN)/python -m tests.prove.mutants

record-release: setup ## keep what this release writes, for the next one's tests: make record-release NAME=next
	$(BIN)/python -m tests.support.record_release $(NAME)

deploy: setup ## deploy to the AWS account of your credentials: make deploy STAGE=prod; settings/prod.json has what it sets
	@$(BIN)/python -m scripts.deploy -c stage=$(STAGE) $(SETTINGS)

lock: setup ## resolve the locks anew (LOCK_OPTIONS=--upgrade for newer versions)
	$(COMPILE) requirements/uv.in -o requirements/uv.txt
	$(COMPILE) layers/dependencies/requirements.in -o layers/dependencies/requirements.txt
	$(COMPILE) requirements/dev.in -o requirements/dev.txt
	$(COMPILE) requirements/bench.in -o requirements/bench.txt
	$(COMPILE) requirements/audit.in -o requirements/audit.txt
	npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error
	node -e 'const fs = require("fs"), lock = JSON.parse(fs.readFileSync("package-lock.json")); for (const name in lock.packages) delete lock.packages[name].funding; fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n")'
	@! grep -nE '://' layers/dependencies/requirements.txt requirements/dev.txt requirements/bench.txt \
		requirements/audit.txt requirements/uv.txt package-lock.json

audit-locks: setup ## known vulnerabilities of all locked packages; what cannot be reached is said and skipped
	@$(BIN)/python -m scripts.audit_locks

pictures: setup ## the console's pictures in the documentation, made anew
	DUECOURSE_PICTURES=docs/pictures $(BIN)/pytest -q tests/console/test_pictures.py

docs: setup ## the documentation as a site, in .build/site
	@$(BIN)/python -m scripts.site_pages .build
	@$(BIN)/zensical build --clean --strict --config-file .build/zensical.toml
	@echo "open .build/site/index.html"

sbom: setup ## bills of materials (CycloneDX) of the functions and of the tools, in .build/sbom
	@$(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/audit.txt
	@mkdir -p .build/sbom
	@$(SBOM) layers/dependencies/requirements.txt --pyproject pyproject.toml -o .build/sbom/functions.cdx.json
	@$(SBOM) requirements/dev.txt -o .build/sbom/development.cdx.json
	@npm sbom --sbom-format cyclonedx --package-lock-only --loglevel=error > .build/sbom/node.cdx.json
	@echo "in .build/sbom: functions.cdx.json (what is deployed), development.cdx.json, node.cdx.json"

clean: ## remove what was built; the local stack's data stay
	rm -rf .venv .tools node_modules cdk.out .build .mypy_cache .pytest_cache .ruff_cache .grimp_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
