# The whole set-up. `make run` and `make test` need python3 >= 3.11, python3-venv and make, nothing else.
PYTHON ?= python3
PORT ?= 8000
ARGS ?=
PY := .venv/bin/python

.PHONY: run test check bench oracle clean
.DEFAULT_GOAL := run

run: .venv/run
	$(PY) manage.py migrate --verbosity 0
	@echo "Slotwise is at http://127.0.0.1:$(PORT)/ (Ctrl-C stops it)"
	@mkdir -p staticfiles
	$(PY) manage.py runserver --noreload 127.0.0.1:$(PORT)

test: .venv/dev
	sh scripts/install_chromium.sh
	sh scripts/install_shellcheck.sh
	@sh scripts/install_services.sh || [ -z "$$CI" ]
	DEBUG=0 DATABASE_URL= CACHE_URL= $(PY) -m pytest $(ARGS)
	@if sh scripts/install_services.sh; then \
		echo "Once more on PostgreSQL and Valkey or Redis, what needs a database:"; \
		DEBUG=0 $(PY) -m scripts.services $(PY) -m pytest -m "database and not browser" $(ARGS) || [ $$? -eq 5 -a -n "$(ARGS)" ]; \
	else echo "NOT run on PostgreSQL: its servers cannot be installed here." >&2; fi

check: .venv/dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/djlint --lint --quiet templates
	SECRET_KEY=check-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFG ALLOWED_HOSTS=plans.example.org HTTPS=1 \
		$(PY) manage.py check --deploy --fail-level WARNING
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m scripts.audit

bench: .venv/dev
	$(PY) -m benchmarks $(ARGS)

# Real engines in build/oracle, held against what Slotwise expects of them; see docs/oracle.md. Never part of the tests.
oracle: .venv/run
	$(PY) -m oracle $(ARGS)

# A stamp per requirements file, so that an edit reinstalls and nothing else does.
.venv/run: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Slotwise needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
	touch $@

.venv/dev: requirements-dev.txt .venv/run
	.venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	touch $@

clean:
	rm -rf .venv staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis
