# make demo: the main job on real input; make test: everything. Both build the environment the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types contract clean

demo: $(READY)
	@mkdir -p build
	@$(BIN)/gemmlab explain 4096 50257 768 --format bfloat16 --chip h100-sxm --html build/demo.html --plot build/roofline.svg

test: $(READY)
	@$(BIN)/pytest -n auto

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

contract: $(READY)
	@$(BIN)/lint-imports

# The stamp is remade only when the project's own description changes, so a second `make test` starts at once.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("gemmlab needs Python 3.11 or newer; try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist
