# Two commands: `make run` starts the product, `make test` passes the tests. No step before either.
PYTHON ?= python3
HOME_OF = $(shell $(PYTHON) -c 'import sys; sys.path.insert(0, "hub_config"); import bootstrap; print(bootstrap.default_home())')
ENV = $(HOME_OF)/env/bin
NAME ?=
ARGS ?=

# Tests with Lab pages, and one that watches memory grow: two at a time they would measure each other.
ALONE = tests/cases/test_c20_memory.py tests/executor tests/ui

.PHONY: run test test-kubernetes demo check env lock bench bench-all system-packages generated

run:
	@exec $(PYTHON) hub_config/bootstrap.py --then up $(ARGS)

demo:
	@exec $(PYTHON) hub_config/bootstrap.py --then demo $(ARGS)

env:
	@$(PYTHON) hub_config/bootstrap.py --with dev

test: system-packages env
ifeq ($(ARGS),)
	$(ENV)/python -m pytest -n 2 --dist loadfile $(ALONE:%=--ignore %) --ignore tests/kubernetes
	$(ENV)/python -m pytest $(ALONE)
else
	$(ENV)/python -m pytest $(ARGS)
endif

# On the cluster that KUBECONFIG names; as root without one, on a cluster that is started for it and ended after it.
test-kubernetes: env
	PYTHONPATH=tests/support $(ENV)/python tests/support/with_cluster.py \
	  $(ENV)/python -m pytest $(or $(ARGS),tests/backends/conformance tests/kubernetes)

system-packages:
	@$(PYTHON) tests/support/system_packages.py

check: env
	$(ENV)/ruff check .
	$(ENV)/ruff format --check .
	$(ENV)/mypy
	$(ENV)/lint-imports
	$(ENV)/python tests/support/generated.py --check
	$(ENV)/gearshift image lock --check
	$(PYTHON) hub_config/bootstrap.py --with dev --extension lint --extension types --extension test

generated: env
	$(ENV)/python tests/support/generated.py

bench: env
	$(ENV)/python -m benchmarks $(NAME)

bench-all: env
	$(ENV)/python -m benchmarks --all

lock: env
	$(ENV)/python -m pip freeze --exclude gearshift --exclude torch | grep -v ' @ ' > constraints.txt
