# SPDX-License-Identifier: Apache-2.0
# The commands of the project; `make help` lists them. The work is done by CMake (CMakeLists.txt,
# CMakePresets.json) and by scripts/.

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600

PROGRAM = build/mirrormap
RUN ?= runs/quick
SEED ?= 0

# CUDA=1 compiles the kernels, CUDA=0 does not; without it, they are compiled where a device is. A
# build folder remembers.
CUDA ?=
KERNELS = $(if $(CUDA),-DMIRRORMAP_CUDA=$(if $(filter 0,$(CUDA)),OFF,ON))
# of devices that the kernels are compiled for, as 90 or 80;90; empty: as the build is configured
CUDA_ARCHITECTURES ?=
KINDS = $(if $(CUDA_ARCHITECTURES),"-DCMAKE_CUDA_ARCHITECTURES=$(CUDA_ARCHITECTURES)")

# the builds below have their own -j; this make runs one command after the other
.NOTPARALLEL:
.PHONY: help build run test check-long check-python bench lint format docs docs-api install wheel dist deb clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | column -t -s '|' 2>/dev/null || \
	  sed -n 's/^\([a-z-]*\):.*## /  make \1   /p' Makefile

build: ## build the program (build/mirrormap) and the libraries; CUDA=1: with kernels for GPUs
	@scripts/setup --check build || scripts/setup build
	@scripts/build release $(JOBS) programs $(KERNELS) $(KINDS)

run: build ## learn a map on CartPole, compare it on fresh seeds, draw it (two minutes); RUN=folder SEED=N for another
	@scripts/setup --check run || scripts/setup run
	@scripts/main-job $(PROGRAM) $(RUN) $(SEED)

test: ## build and test: optimised, then with the sanitizers
	@scripts/setup --check build run test || scripts/setup build run test
	@scripts/test-build release $(JOBS) $(KERNELS) $(KINDS)
	@scripts/test-build sanitize $(JOBS)
	@echo "make test: all tests passed (release and sanitize builds)"

check-long: ## test, then engines, Gymnasium, Slurm, every float, valgrind, clang, fuzzing (FUZZ_SECONDS=600 each)
	@scripts/setup build run test check
	@scripts/check-long $(JOBS) $(FUZZ_SECONDS)

check-python: build ## the Python package with PyTorch, JAX, mypy and all else that it is checked by
	@tests/python/check.sh build/libmirrormap.so build/python-check all

bench: build ## measure speed against this machine's own limits
	@$(PROGRAM) bench

lint: build ## formatting, static analysis, shell scripts, licences
	@scripts/setup --check lint || scripts/setup lint
	@scripts/lint $(JOBS)

format: ## format all C sources in place
	@scripts/setup --check lint || scripts/setup lint
	@scripts/lint --format

docs: ## the documents as a site with search and the C API (build/docs/html), by Sphinx from pip
	@scripts/docs || [ $$? -eq 77 ]

docs-api: ## a page for each public header (build/docs-api), by Doxygen where it is installed
	@scripts/docs-api || [ $$? -eq 77 ]

# unit tests that were built go along with a bundle
INSTALLED = $(if $(and $(BUNDLE),$(wildcard build/mirrormap_tests)),all,programs)
install: ## install below PREFIX=/usr/local (DESTDIR is honoured); BUNDLE=1: to be copied, with its libraries
	@scripts/setup --check build || scripts/setup build
	@scripts/build release $(JOBS) $(INSTALLED) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(KERNELS) $(KINDS)
	@cmake --install build >build/install.log || { cat build/install.log; exit 1; }
	@echo "installed below $(DESTDIR)$(PREFIX): `wc -l <build/install_manifest.txt` files"
	@[ -z "$(BUNDLE)" ] || cmake --install build --component bundle >build/install.log || \
	  { cat build/install.log; exit 1; }
	@[ -z "$(BUNDLE)" ] || echo "and what it needs: `wc -l <build/install_manifest_bundle.txt` files"

dist: ## dist/: source tarball, program with its libraries, bill of materials (SPDX), checksums
	@scripts/setup --check build || scripts/setup build
	@scripts/dist $(JOBS) $(KERNELS) $(KINDS)

deb: ## Debian packages of the last commit, in dist/
	@scripts/setup --check build deb || scripts/setup build deb
	@scripts/deb $(JOBS)

wheel: ## a wheel of the Python package with everything it needs, below build/wheel (docs/python.md)
	@scripts/setup --check build || scripts/setup build
	@CUDA="$(CUDA)" scripts/wheel build/wheel

clean: ## remove everything that was built
	@rm -rf build dist
