# Needs make and Python 3.11 or later with venv; all the rest goes into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.stamp

# Packages are compiled when first imported, not when installed, so Python must be free to keep the outcome.
export PYTHONDONTWRITEBYTECODE :=
# One thread for BLAS and for OpenMP: the products here are small, and two cores are kept busy by two processes.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help report campaign test lint unit notebooks peers bench faults mutants again docs dist clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

report: $(STAMP)  ## Run the notebooks and compile the report (ONLY=02 for one notebook)
	@$(PY) report/build.py $(if $(ONLY),--only $(ONLY))

campaign: $(STAMP)  ## Run a long experiment of a notebook and store its rows (NAME=04_budgets)
	@PA_LAB_CAMPAIGN=$(NAME) $(PY) report/build.py --only $(firstword $(subst _, ,$(NAME))) --campaign

test:  ## Lint, unit tests, then every notebook
	@start=$$(date +%s) && $(MAKE) --no-print-directory lint unit notebooks && \
		seconds=$$(($$(date +%s) - start)) && echo "make test: all passed in $$((seconds / 60)) min $$((seconds % 60)) s"

lint: $(STAMP)  ## Check style and format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

unit: $(STAMP)
	$(PY) -m pytest -n 2 --dist worksteal -p no:nbval

# Real data: every output must come out as stored. Otherwise the cells must run, on a small stand-in.
# pytest's own settings make any warning an error, which is not for the machinery of Jupyter.
# Two notebooks run at a time, each on one core; those that take longest start first.
LONG = $(foreach n,09 02 08 05 03 10 06,$(wildcard notebooks/$(n)_*.ipynb))
NBVAL = LOKY_MAX_CPU_COUNT=1 PA_LAB_PROGRESS=0 PA_LAB_OUTPUT="$(CURDIR)/build/test" $(PY) -m pytest \
	$(LONG) $(filter-out $(LONG),$(wildcard notebooks/*.ipynb)) --nbval-current-env --nbval-sanitize-with=tests/nbval_sanitize.cfg \
	-n 2 --dist loadfile --no-loadscope-reorder -o filterwarnings= -o addopts=-q
notebooks: $(STAMP)
	@mode=$$($(PY) report/build.py --mode) && if [ "$$mode" = real ]; then \
		echo "notebooks: real data found, so every output is compared"; \
		$(NBVAL) --nbval; \
	else \
		echo "notebooks: no real data, so the cells only have to run, on stand-in data"; \
		PA_LAB_STAND_IN=1 PA_LAB_STAND_IN_ROWS=4000 $(NBVAL) --nbval-lax; \
	fi

# The tests that need one of them are skipped where it cannot be installed.
peers: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r tests/bench/requirements.txt || \
		echo "other learners could not be installed: the tests that need them are skipped"

bench: peers  ## Measure speed against other implementations
	@$(PY) tests/bench/bench.py

faults: $(STAMP)  ## Kill runs and start two at once; a rerun must not tell
	@$(PY) tests/faults/faults.py

# What it needs is installed for this target only.
mutants: $(STAMP)  ## Put small faults into the algorithms and see that a test notices (N=300 SEED=0)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r tests/faults/requirements.txt
	@$(PY) tests/faults/mutants.py $(or $(N),300) $(or $(SEED),0)

again: $(STAMP)  ## Run the study again, with other BLAS code and threads; it must come out the same
	@$(PY) tests/faults/again.py $(ONLY)

# Sphinx gets a copy of all it reads. What it needs is installed for this target only.
docs: $(STAMP)  ## Build the site into build/docs/
	@$(PY) -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@rm -rf build/site build/docs && mkdir -p build/site/extra
	@cp -R docs/. notebooks figures README.md build/site/
	@cp report/report.pdf report/explore.html build/site/extra/
	@sed 's#"\.\./notebooks/\([0-9a-z_]*\)\.ipynb"#"notebooks/\1.html"#g' report/report.html >build/site/extra/report.html
	@$(PY) -m sphinx --quiet --fail-on-warning --keep-going -b html build/site build/docs
	@$(PY) docs/links.py build/docs

# Each of the two ways to install the package is tried in an environment that has nothing else.
dist: $(STAMP)  ## Build the package into build/dist/, check and install it
	@$(PY) -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@rm -rf build/dist build/fresh
	@$(PY) -m build --no-isolation --outdir build/dist >build/dist.log 2>&1 || { cat build/dist.log >&2; exit 1; }
	@$(PY) -m twine check --strict build/dist/*
	@unset PYTHONPATH; for form in base study; do \
		wheel=$$(echo build/dist/*.whl) && if [ $$form = study ]; then wheel="$$wheel[study]"; fi && \
		$(PY) -m venv build/fresh/$$form && \
		build/fresh/$$form/bin/python -m pip install --quiet --disable-pip-version-check "$$wheel" && \
		build/fresh/$$form/bin/python -I -W ignore tests/fresh/$$form.py >/dev/null && \
		echo "$$wheel: installed and tried in a fresh environment" || exit 1; \
	done

clean:  ## Remove what was built, save the environment
	rm -rf build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# The stamp is made last: an installation that was cut short is taken up again. An environment that does
# not run (cut short itself, or its Python is gone) is made anew. Compiling all modules takes as long as the rest.
$(STAMP): requirements.txt pyproject.toml
	@rm -f $@
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and \
		"This project needs Python 3.11 or later; $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % v[:2])'
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
	@touch $@
