# Both targets set everything up by themselves, from a bare Python 3.11 or newer.
PYTHON ?= python3

.PHONY: demo test docs floors wheel clean

demo: .venv/.plots
	rm -rf demo
	.venv/bin/openteam demo --out demo

test: .venv/.test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright
	.venv/bin/lint-imports
	.venv/bin/pytest -q -n 2 --dist worksteal

# The documentation as a site: open site/index.html. A link that leads nowhere is an error.
docs: .venv/.docs
	.venv/bin/python docs/gather_pages.py build/pages
	.venv/bin/zensical build --clean --strict

# The oldest versions that pyproject.toml allows; `make test` has the newest that are known to work.
floors:
	$(PYTHON) -m venv --clear .venv-floors
	$(PYTHON) tests/floors.py > .venv-floors/constraints.txt
	.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check -e . -c .venv-floors/constraints.txt
	.venv-floors/bin/python tests/floors.py try

# The wheel, installed with all it needs into an empty environment elsewhere.
wheel: .venv/.test
	rm -rf build/wheel build/fresh
	.venv/bin/python -m hatchling build -t wheel -d build/wheel
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl -c constraints.txt
	build/fresh/bin/python tests/floors.py try

clean:
	rm -rf .venv .venv-floors demo build site

.venv/.%: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("openteam needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[$*]' -c constraints.txt
	touch $@
