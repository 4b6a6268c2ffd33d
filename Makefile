# make demo: the main job on real input. make test: every test. Both build .venv the first time, and only then; tests
# also put the GPU's compilers there.
VENV := .venv
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.ready
COMPILERS := $(VENV)/.compilers
# tests wait for browsers, servers and other processes a third of the time: one more of them than there are processors
WORKERS = $(shell expr $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 1)

# Compiled modules are kept: without them the first test waits three times as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types contract wheel docs cold check clean moved web test-web golden

demo: $(READY)
	@mkdir -p build
	@$(RUN) gemmlab report 1024 1024 1024 --html build/demo.html

test: $(COMPILERS)
	@tools/build-web --try
	@$(RUN) pytest -n $(WORKERS)

# The page of gemmlab lab, built into the package; needs Node.
web:
	@tools/build-web

# The page's own tests, which need no browser.
test-web: web
	@npm --prefix web run --silent lint && npm --prefix web test --silent

# Rewrite what the page takes from the package: its tables, and the vectors that its closed forms are held against.
golden: $(READY)
	@$(RUN) gemmlab.lab.data web/src/data && $(RUN) gemmlab.lab.golden web/golden

lint: $(READY)
	@$(RUN) ruff check . && $(RUN) ruff format --check .

types: $(READY)
	@$(RUN) mypy

contract: $(READY)
	@$(VENV)/bin/lint-imports --no-logo

# A wheel built and tried where nothing else is installed.
wheel: $(READY)
	@tools/try-wheel $(VENV)/bin/python

# Rewrite every figure, picture and output in README.md and docs/.
docs: $(READY)
	@$(VENV)/bin/python docs/update.py

# Does an answer come in three times as long as importing numpy takes?
cold: $(READY)
	@$(VENV)/bin/python benchmarks/cold_start.py --rounds 15 --dry

check: test-web test lint types contract wheel cold

# The stamp keeps the folder it was made for: an environment that was moved points at files that are no longer there.
$(READY): pyproject.toml tools/set-up $(if $(filter $(CURDIR),$(shell cat $(READY) 2>/dev/null)),,moved)
	@tools/set-up $(VENV) "$(PYTHON)"
	@echo "$(CURDIR)" > $(READY)

moved: ;

$(COMPILERS): $(READY)
	@tools/add-compilers $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) build dist web/node_modules src/gemmlab/lab/static
