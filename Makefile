# Every target makes what it needs: python3 and a C++ compiler are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test check bench docs wheel clean

demo: $(VENV)/installed
	$(BIN)/dualboost demo

test: $(VENV)/installed $(VENV)/test-group $(VENV)/browser
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

check: $(VENV)/installed $(VENV)/check-group
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror src/dualboost/kernels/*.[ch]pp
	$(BIN)/mypy

bench: $(VENV)/installed $(VENV)/bench-group
	$(BIN)/python -m benchmarks

docs: $(VENV)/installed $(VENV)/docs-group
	$(BIN)/python -m sphinx -W -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

wheel: $(VENV)/bin/python
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

# A change of any source file installs anew; the build directory keeps it short.
SOURCES := $(shell find src CMakeLists.txt pyproject.toml -type f -not -name '*.pyc' 2>/dev/null)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install --quiet ".[plots,cli]" -Cbuild-dir=build/venv
	@touch $@

$(VENV)/%-group: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --group $*
	@touch $@

# A real browser for the tests of the report and of the documentation; they are skipped, with a reason, where there is none.
$(VENV)/browser: $(VENV)/bin/python pyproject.toml
	@$(BIN)/pip install --quiet --group browser --group docs || echo "No playwright: tests in a browser are skipped."
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { timeout 120 apt-get update && timeout 300 apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 || \
	  echo "No chromium could be installed: tests in a browser are skipped."
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/_build
