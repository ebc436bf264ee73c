# The names that people type. Each target builds the environment first where it is missing or stale.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

.PHONY: run test check bench demo docs screenshots lock sbom format clean

# The project itself is installed as a link to this folder, so that `.venv/bin/prunescope` is there and never stale.
$(VENV)/.installed: requirements.txt pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q app.py serve.py prunescope engine pages
	touch $@

$(VENV)/.installed-tests: $(VENV)/.installed tests/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

run: $(VENV)/.installed
	$(BIN)/prunescope serve --port $(PORT)

# Two passes, and both must hold: what goes by the clock needs a quiet machine and runs alone after the others.
# Compiled modules are kept, whatever the environment says: the tests start many processes.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.installed-tests
	sh tests/install_browser.sh
	$(BIN)/python -m pytest -n 3 -m "not quiet"
	$(BIN)/python -m pytest -m quiet

check: $(VENV)/.installed-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict engine pages app.py serve.py prunescope docs/build.py
	$(BIN)/python -m pytest tests/test_rooms.py

bench: $(VENV)/.installed-tests
	$(BIN)/python -m benchmarks

# Computes what the study that ships still lacks: hours.
demo: $(VENV)/.installed
	$(BIN)/prunescope data get qmnist
	$(BIN)/prunescope data get fashion-mnist
	$(BIN)/prunescope sweep run demo --study data/demo

docs: $(VENV)/.installed
	$(BIN)/python docs/build.py

screenshots: $(VENV)/.installed-tests
	sh tests/install_browser.sh
	$(BIN)/python docs/screenshots.py

# Every package that requirements.txt brings along, with the digests of its files; needs uv.
lock:
	uv pip compile --quiet --generate-hashes --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
		--no-header --no-emit-index-url requirements.txt --output-file requirements.lock

sbom: $(VENV)/.installed
	$(BIN)/python -m docs.sbom > sbom.json

format: $(VENV)/.installed-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV)
