# Every command of developers and users; `make` lists them. Everything is installed into .venv, nothing elsewhere.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
# Where it is set, Python keeps no compiled modules, and each command compiles what it imports for more than a second.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
DEMO := results/demo
FUZZ_SECONDS ?= 60
# One worker more than there are cores: some tests wait for sockets and clocks. An idle worker takes tests from others.
PYTEST = $(BIN)/pytest -n $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)") --dist worksteal
PICTURE := docs/images/matrix.svg
AGENT := python/tussle/_agent
DRIVER := python/tussle/_driver.o
IN_A_PAGE := python/tussle/_simulator.wasm.gz

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
DEMO_MATRIX := $(BIN)/tussle matrix --algorithms reno,cubic,bic,vegas --profile lan

.PHONY: help
help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: .venv/.checked  ## Check what is needed, then install it and the command into .venv
	@# Installing tools uses one core, and so do the last steps of each build.
	@$(MAKE) --no-print-directory -j2 .venv/.built $(DRIVER) $(IN_A_PAGE)

.venv/.checked: Cargo.toml tools/prerequisites.sh
	@PYTHON=$(PYTHON) tools/prerequisites.sh
	@mkdir -p .venv
	@touch $@

# Tools and libraries, as pyproject.toml declares them. Python compiles of them what it imports.
.venv/.tools: pyproject.toml | .venv/.checked
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python tools/requirements.py > .venv/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r .venv/requirements.txt
	@touch $@

# The simulator and the command `tussle`; Python files are used where they stand. The plus sign lets cargo take part in
# make's count of jobs.
.venv/.built: .venv/.tools $(RUST_SOURCES)
	+VIRTUAL_ENV=$(CURDIR)/.venv PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	@touch $@

$(AGENT): $(RUST_SOURCES) kernel/driver/tussle.h tools/build-agent.sh
	+@tools/build-agent.sh $(AGENT) $(DRIVER)

# One script builds both.
$(DRIVER): $(AGENT)
	+@test -e $@ || tools/build-agent.sh $(AGENT) $(DRIVER)

# The simulator for web pages. A computer without the target of Rust goes without them.
$(IN_A_PAGE): $(shell find crates/tussle-core/src crates/tussle-wasm -type f) Cargo.toml Cargo.lock tools/build-wasm.sh
	+@tools/build-wasm.sh $(IN_A_PAGE)

.PHONY: site
site: setup  ## Build the documentation as a site with search, the studio and a sample report; build/site
	$(BIN)/python tools/site_of_docs.py build/site

.PHONY: demo
demo: setup  ## Compare four algorithms on a LAN, each pair in both orders, and report
	@rm -rf $(DEMO) $(DEMO).partial
	$(DEMO_MATRIX) -o $(DEMO)

.PHONY: kernel
kernel: setup  ## Build the Linux of the kernel engine into the user's cache (3 minutes; nothing the second time)
	$(BIN)/tussle kernel build

.PHONY: ticks
ticks: setup  ## Build Linux with 100 and 1000 ticks per second, and run the tests that need it
	for hz in 100 1000; do $(BIN)/tussle kernel build --hz $$hz || exit 1; done
	$(PYTEST) tests/kernel/test_kernel_hosts.py

.PHONY: kernels
kernels: setup  ## Build every Linux of which this machine has, or apt offers, a package
	$(BIN)/tussle kernel build --all

# The kernel that the tests run on, and the one that they boot beside it if its source is installed. Without them the
# tests that boot one are skipped, unless TUSSLE_REQUIRE_KERNEL=1 says that none may be. The first is built last: a test
# builds a patched one, which then compiles only what differs.
SECOND_SOURCE := linux-source-6.12
KERNEL_OR_SKIP := { [ "$$TUSSLE_REQUIRE_KERNEL" != 1 ] && echo "make test: tests that boot this kernel will be skipped"; }

LINTS := lint-rust lint-python

.PHONY: test
test: setup  ## Set up, lint, build kernels, run all tests, and say at the end what was skipped
	@# Lints begin first. Those for Python, unpacking Linux and the last steps of a build use one core.
	@$(MAKE) --no-print-directory -j2 $(LINTS) test-kernels test-rust
	$(PYTEST)

.PHONY: test-kernels
test-kernels:  ## The part of `make test` that builds kernels
	if [ -e /usr/src/$(SECOND_SOURCE).tar.xz ]; then $(BIN)/tussle kernel build --source $(SECOND_SOURCE); else false; fi || \
	$(KERNEL_OR_SKIP)
	$(BIN)/tussle kernel build || $(KERNEL_OR_SKIP)

.PHONY: test-rust
test-rust:  ## The part of `make test` for Rust
	$(SAME_CASES) cargo test --workspace --locked --quiet

# A failure is about the change at hand: the property tests try the same random cases every time.
SAME_CASES := PROPTEST_RNG_SEED=1
ROUNDS := 10

.PHONY: properties
properties: setup  ## Run the property tests with random cases of their own, ROUNDS times (10)
	for round in $$(seq $(ROUNDS)); do \
		cargo test --release -p tussle-core --test '*' --locked --quiet || exit 1; \
		$(PYTEST) --quiet -m hypothesis --hypothesis-profile random || exit 1; \
	done

.PHONY: check
check: .venv/.tools  ## The short form of `make test`, in three minutes: format, lints, quick tests
	@# The build ends with a step on one core.
	@$(MAKE) --no-print-directory -j2 check-rust check-python

.PHONY: check-rust
check-rust:  ## The part of `make check` for Rust
	cargo fmt --all --check
	+cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	+$(SAME_CASES) cargo test -p tussle-core --locked --quiet

# The quick tests need the agent and the simulator for web pages, but not those of today's sources.
BUILT_BESIDE := $(AGENT) $(DRIVER) $(IN_A_PAGE)

.PHONY: check-python
check-python: .venv/.built $(filter-out $(wildcard $(BUILT_BESIDE)),$(BUILT_BESIDE))  ## The part of `make check` for Python
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/lint-imports
	$(BIN)/typos
	$(PYTEST) --quiet -m "not slow"

# Modules that a macro declares, which cargo fmt does not find.
RUSTFMT := rustfmt --edition 2024 $(foreach folder,cc cc/* net/path net/queue,$(wildcard crates/tussle-core/src/$(folder)/*.rs))

.PHONY: lint
lint: setup  ## Check format, lints, types, layers, spelling, words, and that reference and pages are up to date
	@# The lints for Python use one core.
	@$(MAKE) --no-print-directory -j2 $(LINTS)

.PHONY: lint-rust
lint-rust:  ## The part of `make lint` for Rust
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	$(RUSTFMT) --check
	+cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

.PHONY: lint-python
lint-python:  ## The part of `make lint` for Python and for texts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/typos
	$(BIN)/python tools/words.py
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/algorithm_pages.py --check

.PHONY: fmt
fmt: setup  ## Format Rust and Python
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(RUSTFMT)
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

.PHONY: docs
docs: setup  ## Write docs/reference from the code, the numbers of the examples, the picture of the README, and which algorithms docs/suites lacks
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/suite_pages.py rfc9743 results/suites/rfc9743 --write
	$(BIN)/python tools/doc_examples.py
	$(BIN)/python tools/notebooks.py
	rm -rf results/picture results/picture.partial
	$(DEMO_MATRIX) -o results/picture
	$(BIN)/tussle plot results/picture matrix -o $(PICTURE)

.PHONY: pages
pages: setup  ## Simulate, draw and write the algorithms' pages, docs/explanation/algorithms
	$(BIN)/python tools/algorithm_pages.py

.PHONY: draw
draw: setup  ## Compare the simulator with Linux in 32 cells (5 minutes); `make test` runs a quarter of them
	rm -rf results/agree-quick
	$(BIN)/tussle agree --grid quick -o results/agree-quick

.PHONY: agreement-of-hosts
agreement-of-hosts: setup  ## Compare the simulator with Linux with each setting of hosts; `make test` takes five of them
	$(BIN)/tussle agree --hosts --cells 4 -o results/agree-hosts

AGREE := agree --grid full
WITH_DEFAULT_HOSTS := $(AGREE) --set hosts.profile=linux-6.1 --set hosts.timestamps=random
AGREED := results/agree-full
AGREED_WITH_DEFAULT_HOSTS := results/agree-full-linux-6.1

.PHONY: agreement
agreement: setup  ## Compare the simulator with Linux in 512 cells, with hosts that limit nothing and with Linux's own; docs/agreement
	$(BIN)/tussle $(AGREE) -o $(AGREED) || test $$? = 1
	$(BIN)/python tools/agreement.py bare $(AGREED) "tussle $(AGREE)"
	$(BIN)/tussle $(WITH_DEFAULT_HOSTS) -o $(AGREED_WITH_DEFAULT_HOSTS) || test $$? = 1
	$(BIN)/python tools/agreement.py linux-6.1 $(AGREED_WITH_DEFAULT_HOSTS) "tussle $(WITH_DEFAULT_HOSTS)"

KERNELS := linux-6.1,linux-6.12,linux-7.3
KERNEL_PROFILES := dsl lan lte
KERNEL_TIMES_dsl := --duration 60s
KERNEL_TIMES_lan := --duration 12s --stagger 2s
KERNEL_TIMES_lte := --duration 60s
KERNEL_PAIRS := matrix --engine kernel --algorithms cubic,reno,bbr,vegas,westwood,htcp --repetitions 6

.PHONY: kernel-changes
kernel-changes: setup  ## Run pairs on the kernels of KERNELS (two hours), and write docs/kernels and its page's tables
	set -e; $(foreach profile,$(KERNEL_PROFILES),$(BIN)/tussle $(KERNEL_PAIRS) --kernel $(KERNELS) \
	--profile $(profile) $(KERNEL_TIMES_$(profile)) -o results/kernels-$(profile);)
	$(BIN)/python tools/kernels_page.py $(KERNEL_PROFILES:%=results/kernels-%)

.PHONY: token-bucket
token-bucket: setup  ## Run the study linux-variants over the token bucket of its time (10 minutes), and write docs/explanation/token-bucket.md
	$(BIN)/python tools/token_bucket.py results/token-bucket

# Zig links with the libraries of an older Linux, so that the wheel works on any of the last ten years.
WHEEL := --zig --compatibility manylinux2014

.PHONY: wheel
wheel: setup  ## Build a wheel for any Linux and any Python from 3.11, and a source distribution, into dist
	rm -rf dist
	$(BIN)/python tools/requirements.py wheel > .venv/compiler.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r .venv/compiler.txt
	VIRTUAL_ENV=$(CURDIR)/.venv PATH="$(CURDIR)/$(BIN):$$PATH" tools/build-wheel.sh dist $(WHEEL)
	$(BIN)/maturin sdist --out dist

.PHONY: test-wheel
test-wheel: wheel  ## Install the wheel into an empty environment, and use it there (needs a network)
	TUSSLE_REQUIRE_WHEEL=1 $(BIN)/pytest tests/test_wheel.py

.PHONY: host-defaults
host-defaults: setup  ## Run all cells with each default of a Linux host, and write its table in docs/explanation/default-host.md
	$(BIN)/python tools/host_defaults.py results/host-defaults

STUDIES := lan-pairs buffer-provisioning linux-variants hsdpa
STUDIES_ON_LINUX := lan-pairs hsdpa
# These two take hours and more than a day on Linux: their results from there are kept beside their pages.
KEPT_ON_LINUX := buffer-provisioning linux-variants
# The studies' questions asked again with the algorithms and hosts of today.
TODAY := $(addsuffix -today,$(STUDIES))
TODAY_ON_LINUX := --engine kernel --kernel linux-6.12 --algorithms reno,cubic,bbr,dctcp

.PHONY: suites
suites: setup  ## Test every algorithm of the simulator, or ALGORITHMS=A,B, against RFC 9743 (half an hour), and write docs/suites
	$(BIN)/python tools/suite_pages.py rfc9743 results/suites/rfc9743 $(addprefix --only ,$(ALGORITHMS))

.PHONY: suites-on-linux
suites-on-linux: setup  ## Test Linux's algorithms, or ALGORITHMS=A,B, on Linux against RFC 9743 (two hours), and write docs/suites
	$(BIN)/python tools/suite_pages.py rfc9743 results/suites/rfc9743-linux --engine kernel $(addprefix --only ,$(ALGORITHMS))

.PHONY: papers
papers: setup  ## Run the published studies again (half a day on two cores, resumable); HTML into results/paper-STUDY, Markdown into docs/papers
	set -e; $(foreach study,$(STUDIES) $(TODAY),$(BIN)/tussle paper $(study) -o results/paper-$(study);)
	set -e; $(foreach study,$(STUDIES),\
	$(BIN)/tussle paper $(study) --study-hosts -o results/paper-$(study);)
	set -e; $(foreach study,$(STUDIES_ON_LINUX),\
	$(BIN)/tussle paper $(study) --engine kernel -o results/paper-$(study);)
	set -e; $(foreach study,$(KEPT_ON_LINUX),cp -r docs/papers/$(study)/results/kernel results/paper-$(study)/;)
	set -e; $(foreach study,$(TODAY),$(BIN)/tussle paper $(study) $(TODAY_ON_LINUX) -o results/paper-$(study);)
	set -e; $(foreach study,$(STUDIES) $(TODAY),$(BIN)/python tools/paper_pages.py $(study) results/paper-$(study);)

.PHONY: worst-cases
worst-cases: setup  ## Search for worst cases (an hour), and write docs/worst-cases and its page; results/worst
	$(BIN)/python tools/worst_cases.py --kernel results/worst

.PHONY: bench
bench: setup  ## Measure speed and its parts, beside ns-2 and ns-3 where they are installed
	$(BIN)/python benches/bench.py
	$(BIN)/python benches/virtual_time.py

.PHONY: speed
speed: bench  ## Measure speed, and write the tables of docs/explanation/speed.md
	$(BIN)/python benches/page.py

.PHONY: gym-speed
gym-speed: setup  ## Measure the steps a second of tussle.gym, and write them into docs/how-to/train-an-algorithm.md
	$(BIN)/python benches/gym.py --write

# An environment of its own: PyTorch is large, and nothing else needs it.
.PHONY: gym-policy
gym-policy: setup  ## Train the policy of tussle.gym with Stable-Baselines3 (two minutes, and gigabytes of packages)
	test -x build/gym-policy/bin/python || $(PYTHON) -m venv build/gym-policy
	build/gym-policy/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/requirements.txt "stable-baselines3>=2.7"
	PYTHONPATH=python build/gym-policy/bin/python tools/gym_policy.py

FUZZ := cargo +nightly fuzz
FUZZ_LIMITS = -- -max_total_time=$(FUZZ_SECONDS) -max_len=8192
FUZZ_SEEDS_run := fuzz/seeds/run
FUZZ_SEEDS_script := crates/tussle-core/tests/scripts
FUZZ_SEEDS_join := fuzz/seeds/join
TAR_SAME_BYTES := --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner

# The corpus of each target is kept in fuzz/kept: it is unpacked first, and afterwards made as small as covers the same.
.PHONY: fuzz
fuzz:  ## Feed mangled input to simulator and protocol, FUZZ_SECONDS=60 a target (needs cargo-fuzz and nightly Rust)
	@cargo +nightly fuzz --version > /dev/null 2>&1 || { echo "make fuzz: cargo-fuzz or nightly Rust is missing; \
	rustup toolchain install nightly && cargo install cargo-fuzz" >&2; exit 2; }
	mkdir -p fuzz/corpus
	set -e; $(foreach target,run script join,tar -xJf fuzz/kept/$(target).tar.xz -C fuzz/corpus; \
	$(FUZZ) run --sanitizer none $(target) fuzz/corpus/$(target) $(FUZZ_SEEDS_$(target)) $(FUZZ_LIMITS); \
	$(FUZZ) cmin --sanitizer none $(target) fuzz/corpus/$(target); \
	tar $(TAR_SAME_BYTES) -cJf fuzz/kept/$(target).tar.xz -C fuzz/corpus $(target);)

.PHONY: mutations
mutations: setup  ## Give 1000 mutated scenarios, 200 mutated datasets and other files to every command (`make test` takes fewer)
	TUSSLE_MUTATIONS=all $(PYTEST) tests/test_mutated_*.py

.PHONY: clean
clean:  ## Remove all that was built; results stay
	rm -rf .venv target dist fuzz/target build .pytest_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis
	rm -f python/tussle/_core*.so $(AGENT) $(DRIVER)
