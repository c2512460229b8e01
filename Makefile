# Two commands matter: `make lab` sets up and opens the planner, `make test` sets up and runs everything.
# `make quick` is lint, types, contracts and unit tests. Set PYTHON to choose an interpreter (3.11 to 3.14).

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
PLANS  := plans

# Without written bytecode every process that a test starts compiles all modules anew, which doubles its start.
unexport PYTHONDONTWRITEBYTECODE

say     = @printf '\n== %s\n' "$(1)"

# Seconds that each stage may take on two cores; the stages of `make test` add up to 480, `make test-long` to an hour.
BUDGET_front-end  := 15
BUDGET_lint       := 10
BUDGET_contracts  := 5
BUDGET_types      := 50
BUDGET_typescript := 30
BUDGET_pages      := 30
BUDGET_together   := 75
BUDGET_unit       := 240
BUDGET_browser    := 120
BUDGET_packaging  := 100
BUDGET_installed  := 135
BUDGET_docs       := 85
BUDGET_long       := 3500

# A stage begins with its title and ends with its time beside its budget; $(TIMES) keeps both for the sum of `make test`.
TIMES := $(VENV)/.stage-times
begin = @printf '\n== %s   [budget %s s]\n' "$(1)" $(BUDGET_$@); date +%s > $(VENV)/.began-$@
end   = @took=$$(( $$(date +%s) - $$(cat $(VENV)/.began-$@) )); echo "$$took $(BUDGET_$@) $@" | tee -a $(TIMES) | awk $(report)
sum   = @awk '{ took += $$1; budget += $$2 } END { print took, budget, "everything passed" }' $(TIMES) | awk $(report)
report = '{ time = $$1; budget = $$2; sub(/^[0-9]+ [0-9]+ /, ""); \
  printf "== %s: %d s of %d s%s\n", $$0, time, budget, (time > budget ? ", over the budget" : "") }'

# What the front end is made of. The extension's own build folder (lib) is a result, not a source.
FRONT_END := $(filter-out %.py,$(wildcard widgets/*.* widgets/src/* widgets/src/*/* widgets/labextension/*.json widgets/labextension/src/* widgets/labextension/style/*))
SET_UP    := pyproject.toml hatch_build.py widgets/front_end.py widgets/package-lock.json

.PHONY: help lab test test-long quick golden bench docs wheelhouse clean lint types contracts unit typescript pages browser packaging installed together long front-end no-times
.DELETE_ON_ERROR:

help:
	@echo "make lab     set up and open the planner in JupyterLab"
	@echo "make test    set up and check a change: lint, contracts, types, TypeScript, documentation, unit tests, browser, wheel"
	@echo "make docs    build the documentation in build/docs/html: notebooks, screenshots, pages; no network is needed"
	@echo "make wheelhouse   dra-lab and its packages as wheels in dist/wheelhouse, for machines without a network"
	@echo "make test-long   everything else, in an hour: notebooks, thousands of cases; DRA_LAB_SEEDS=1000:3000 chooses others"
	@echo "make quick   lint, types, contracts and unit tests"
	@echo "make golden  write the golden files again; git diff shows what changed"
	@echo "make bench   measure the speeds of the README and print them beside their targets"
	@echo "make clean   remove what was built and installed here; your plans stay"

# ---------------------------------------------------------------- setting up

$(BIN)/python:
	$(call say,Python environment in $(VENV)   [5 s])
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' \
	  || { echo "dra-lab needs Python 3.11 to 3.14; set PYTHON, for example: make lab PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=24,<28" || echo "pip stays as it is; an old one needs twice the time"

# Whoever has the test environment has all that `make lab` needs.
$(VENV)/.ready-to-plan: $(SET_UP) $(FRONT_END) | $(BIN)/python
	$(call say,JupyterLab$(COMMA) dra-lab and its front end   [about 1 to 2 minutes the first time])
	@$(PIP) install -e ".[lab]"
	@touch $@

$(VENV)/.ready-to-test: $(SET_UP) | $(BIN)/python
	$(call say,tools for the tests   [about 2 minutes the first time])
	@$(PIP) install -e ".[test]"
	@touch $@ $(VENV)/.ready-to-plan

COMMA := ,

front-end: $(VENV)/.ready-to-test
	$(call begin,front end)
	@$(BIN)/python widgets/front_end.py build install
	$(call end)

# ---------------------------------------------------------------- the two commands

lab: $(VENV)/.ready-to-plan
	$(call say,JupyterLab opens on your plan in $(PLANS)/   [5 s]; Ctrl+C here ends it)
	@mkdir -p $(PLANS)
	@cd $(PLANS) && "$(CURDIR)/$(BIN)/dra-lab" lab $(ARGS)

test: no-times lint contracts together unit installed
	$(call sum)

# Every notebook, thousands of random cases, every real file, every screen: what takes too long for each change.
test-long: no-times docs long
	$(call sum)

no-times: | $(BIN)/python
	@rm -f $(TIMES)

quick: lint types contracts unit

# All files go first, so that none stays whose case is gone.
golden: $(VENV)/.ready-to-test
	$(call say,golden files   [about 5 minutes on two cores])
	@find tests/golden -mindepth 2 -type f -not -path "*/inputs/*" -delete
	@$(BIN)/python -m pytest -q -n auto --dist worksteal --snapshot-update tests/golden
	@git status --short tests/golden

bench: front-end
	$(call say,speeds$(COMMA) measured against their targets)
	@$(BIN)/python -m tests.benchmarks

# ---------------------------------------------------------------- the stages

lint: $(VENV)/.ready-to-test
	$(call begin,lint: ruff check$(COMMA) ruff format --check and plain words)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python .ci/prose.py
	$(call end)

types: $(VENV)/.ready-to-test
	$(call begin,types: mypy --strict)
	@$(BIN)/mypy
	$(call end)

contracts: $(VENV)/.ready-to-test
	$(call begin,who may import whom: lint-imports)
	@$(BIN)/lint-imports --no-logo --cache-dir .import_linter_cache
	$(call end)

unit: front-end
	$(call begin,unit tests: pytest)
	@$(BIN)/python -m pytest -q -n auto -m "not browser and not slow and not long"
	$(call end)

long: front-end
	$(call begin,tests that take too long for each change: pytest -m long)
	$(call in_the_browser,-n auto --dist worksteal,-m long)
	$(call end)

typescript: front-end
	$(call begin,TypeScript: biome$(COMMA) tsc and vitest)
	@$(BIN)/python widgets/front_end.py npm run lint
	@$(BIN)/python widgets/front_end.py npm run typecheck
	@$(BIN)/python widgets/front_end.py npm run typecheck -w labextension
	@$(BIN)/python widgets/front_end.py npm test
	$(call end)

# mypy uses one core, so two stages run at a time. Each prints all at its end; a make before 4.0 mixes the lines.
# The front end is built already.
WHOLE := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

together: front-end
	$(call begin,types$(COMMA) TypeScript and documentation$(COMMA) side by side)
	@+$(MAKE) --no-print-directory --old-file=front-end -j2 $(WHOLE) TIMES=/dev/null types typescript pages
	$(call end)

# Sphinx and its checks, with the pages of notebooks and the screenshots left out.
pages: front-end
	$(call begin,documentation: pages)
	@$(BIN)/python docs/build_site.py --no-notebooks
	$(call end)

# Every notebook runs from top to bottom for its page; what was run and photographed is kept until something changes.
docs: front-end
	$(call begin,documentation: notebooks$(COMMA) screenshots and pages)
	@DRA_LAB_CHROMIUM="$$($(BIN)/python tests/browser/provide_chromium.py)" && export DRA_LAB_CHROMIUM \
	  && $(BIN)/python docs/build_site.py
	$(call end)

# For machines without a network: dra-lab, everything that it needs, and nothing else.
wheelhouse: front-end
	$(call say,wheels of dra-lab and its packages in dist/wheelhouse   [one to six minutes])
	@rm -rf dist/wheelhouse
	@$(BIN)/python -m pip wheel -q --wheel-dir dist/wheelhouse ".[lab]"
	@echo "install on another machine with: pip install --no-index --find-links dist/wheelhouse 'dra-lab[lab]'"

# Nothing is run again: what fails shows what its pages and kernels did.
define in_the_browser
	@DRA_LAB_CHROMIUM="$$($(BIN)/python tests/browser/provide_chromium.py)" && export DRA_LAB_CHROMIUM \
	  && $(BIN)/python -m pytest -q $(1) $(2)
endef

browser: front-end
	$(call begin,ten flows: JupyterLab in Chromium$(COMMA) no network)
	$(call in_the_browser,,-m "browser and not long" tests/browser)
	$(call end)

packaging: front-end
	$(call begin,packaging: a wheel in a fresh environment)
	@$(BIN)/python -m pytest -q -m "slow and not long" tests/test_packaging.py
	$(call end)

# The wheel is installed by one worker while the other one has JupyterLab and Chromium.
installed: front-end
	$(call begin,ten flows in the browser and a wheel$(COMMA) side by side)
	$(call in_the_browser,-n 2 --dist loadfile,-m "(browser or slow) and not long" tests/test_packaging.py tests/browser)
	$(call end)

clean:
	$(call say,removing what was built; $(PLANS)/ stays)
	@rm -rf $(VENV) dist build dra_lab/widgets/static dra_lab/pictures/static dra_lab/labextension widgets/node_modules \
	  widgets/labextension/node_modules widgets/labextension/lib widgets/labextension/*.tsbuildinfo \
	  .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
