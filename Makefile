# make lab and make test are all a newcomer needs; make help lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PUBLISH := $(VENV)/.publish
RUNS ?= 20
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))

.PHONY: help lab test browser refresh golden lint slides slides-pdf site handout bench opinfo soak matrix pins clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort | expand -t 12

lab: $(READY) ## open JupyterLab on the first lesson
	$(BIN)/jupyter trust $(NOTEBOOKS)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter lab $(LAB_OPTIONS) $(firstword $(NOTEBOOKS))

test: $(PUBLISH) ## run all tests, notebooks included; with Chromium there, in it too
	$(BIN)/python -m pytest -n 2 --dist loadfile --nbval --nbval-current-env --nbval-cell-timeout 120 $(TESTS)

browser: $(PUBLISH) ## look at JupyterLab, slides and site in a real Chromium
	$(BIN)/python -m pytest -q -p no:nbval tests/browser

slides: $(PUBLISH) ## write the slides of every lesson; SOLUTIONS=1 for the solutions too
	$(BIN)/python docs/slides.py build/slides $(if $(SOLUTIONS),--solutions)

slides-pdf: slides ## print the slides as PDF, by Chromium
	$(BIN)/python docs/print_slides.py build/slides

site: $(PUBLISH) ## write the static site of all lessons
	$(BIN)/python docs/prepare.py build/docs
	rm -rf build/site
	$(BIN)/sphinx-build -q -W --keep-going -b html build/docs build/site

handout: $(READY) ## write the notebooks without solutions
	$(BIN)/python docs/handout.py build/handout

refresh: $(READY) ## run every notebook in place and normalise it
	$(BIN)/python tests/refresh.py $(NOTEBOOKS)

lint: $(READY) ## check style and format of code and notebooks, and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: $(READY) ## write the golden texts and pictures anew; then read the diff
	$(BIN)/python -m pytest -q -n 2 -p no:nbval --write-golden tests

bench: $(READY) ## time pictures and recordings, as ratios measured in one run
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python tests/bench.py

opinfo: $(READY) ## record every sample of every torch operator (about half an hour)
	ALL_OPERATOR_SAMPLES=1 $(BIN)/python -m pytest -q -p no:nbval tests/test_operators.py

soak: $(READY) ## run all notebooks 20 times (RUNS=5 for fewer); stop at the first that differs
	@for run in $$(seq $(RUNS)); do \
		echo "run $$run of $(RUNS)"; \
		$(BIN)/python -m pytest -q -n 2 --dist loadfile --nbval --nbval-current-env --nbval-cell-timeout 120 notebooks \
			|| { echo "run $$run of $(RUNS) differed: see above" >&2; exit 1; }; \
	done

matrix: ## run tests on other versions of Python and torch (ROWS="3.10 oldest" for one)
	$(PYTHON) tests/matrix.py $(ROWS)

pins: $(READY) ## write constraints.txt anew from pyproject.toml
	$(BIN)/pip install --quiet uv
	printf 'torch==2.13.0\n' > $(VENV)/held.txt
	$(BIN)/uv pip compile --universal --python-version 3.10 --all-extras --no-header --no-annotate --upgrade --constraint $(VENV)/held.txt --output-file $(VENV)/pins.txt pyproject.toml
	{ printf '# Every version, exactly, for Python 3.10 and newer; written by `make pins`.\n'; cat $(VENV)/pins.txt; } > constraints.txt

clean: ## remove what the other targets made
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is made again only when what it is made from has changed.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed, $(PYTHON) is older: run make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv is missing: run  sudo apt install python3-venv  and try again" >&2; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

$(PUBLISH): $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[publish,present]'
	@touch $@
