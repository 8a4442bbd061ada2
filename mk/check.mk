# SPDX-License-Identifier: BSD-3-Clause
# Everything that judges the code. All of it speaks TAP and runs below one prove, whose last lines
# count files and tests. Most tests wait more than they compute, so there are more at once than cores;
# mk/testrules.yml says which of them may run beside each other.

TEST_JOBS ?= 3
SECS      ?= 60
LONG      := scrun-bad scrun
RULES     := mk/testrules.yml
# Tests that call unshare or ip need a root that is a mount point, which it is not below chroot, and others a localhost.
ROOTED     = $(shell [ "$$(id -u)" != 0 ] || { mountpoint -q / && getent ahosts localhost >&2; } 2>/dev/null || \
	       echo tests/lab/rooted)
PROVE      = HARNESS_RULESFILE=$(RULES) $(ROOTED) prove --exec mk/run-test --timer -j$(TEST_JOBS)

SYSTEM_T := $(LONG:%=tests/system/%.t) $(filter-out $(LONG:%=tests/system/%.t),$(sort $(wildcard tests/system/*.t)))
MPI_T    := $(sort $(wildcard tests/mpi/*.t) $(filter tests/system/mpi%,$(SYSTEM_T)))
OTHER_T  := $(sort $(wildcard tests/mpi/*.t tests/lab/*.t tests/bench/*.t tests/conformance/*.t))
PYTHON_T := $(if $(wildcard tests/python/*.py),mk/pytest.t mk/pytest-scconf.t)
FUZZ_T   := $(FUZZ_PROGS)
# Virtual machines at length, beside their short form among the system tests.
ZERO_T   := tests/vm/zerocopy.t
VM_T     := $(sort $(filter-out $(ZERO_T),$(wildcard tests/vm/*.t))) tests/system/ethernet-vm.t \
	    tests/system/scheduler-vm.t
VM_KERNEL_OF = $(if $(wildcard $(BUILD)/vm/$(1)/vmlinuz),VM_KERNEL=$(BUILD)/vm/$(1))

# A group without any test is nothing to run, not a failure of prove.
run_tests = $(if $(strip $(1)),$(PROVE) $(strip $(1)),echo "no tests of this kind")

.PHONY: check check-unit check-sim check-conformance check-fuzz check-system check-python \
	check-fast check-mpi check-short check-vm check-vm-zerocopy check-san fuzz asan tsan ubsan cov lint format man protocol \
	docs abi demo bench bench-apps study soak

# Of those that run beside each other long ones begin first, so that the others fill the gaps between them.
check: $(ALL_OUTPUTS) $(TAP_PROGS) $(FUZZ_PROGS) ## every test and lint; parts that cannot run say why
	@$(call run_tests,$(PYTHON_T) $(SYSTEM_T) $(OTHER_T) mk/lint.t mk/docs.t mk/abi.t $(CONF_PROGS) $(SIM_PROGS) $(FUZZ_T) \
		$(UNIT_PROGS))

check-unit: $(UNIT_PROGS) ## unit tests
	@$(call run_tests,$(UNIT_PROGS))

check-sim: $(SIM_PROGS) ## whole channels in virtual time (TEST_SEED=N repeats a run)
	@$(call run_tests,$(SIM_PROGS))

check-conformance: $(CONF_PROGS) ## the device contract, on every device
	@$(call run_tests,$(CONF_PROGS))

check-fuzz: $(FUZZ_PROGS) ## corpus and a few seconds of mutations per decoder
	@$(call run_tests,$(FUZZ_T))

check-system: $(ALL_OUTPUTS) ## labs, killed processes, real programs (root)
	@$(call run_tests,$(SYSTEM_T))

check-mpi: $(ALL_OUTPUTS) ## MPI programs over mtl/pm
	@$(call run_tests,$(MPI_T))

check-vm: $(ALL_OUTPUTS) ## virtual machines with Debian 12's kernel: RDMA, native XDP, cgroups, the lab itself (root)
	@TEST_TIMEOUT=$${TEST_TIMEOUT:-900} $(call VM_KERNEL_OF,kernel) $(call run_tests,-v -j1 $(VM_T))

check-vm-zerocopy: $(ALL_OUTPUTS) ## pm-ethernet in zero copy, in virtual machines with a newer kernel (bootstrap.sh fetches it)
	@$(call VM_KERNEL_OF,zerocopy) $(call run_tests,-v -j1 $(ZERO_T))

# Two minutes on two cores, once all is built.
check-fast: $(TAP_PROGS) ## unit tests, whole channels in virtual time, the device contract, lint
	@$(call run_tests,mk/lint.t mk/docs.t $(SIM_PROGS) $(CONF_PROGS) $(UNIT_PROGS))

# .ci/run asks this of the other Debian, after "check" on its own: parts of mpi-local.t that are the same with each
# Open MPI are left out. Without the component all of MPI would be skipped, so that is an error here.
SHORT_T := tests/system/mpi-cores.t tests/system/mpi.t tests/system/mpi-local.t tests/system/mpi-scrun.t
check-short: export MPI_SHORT = 1
# Properties get fewer random examples with another Python.
check-short: export TEST_EXAMPLES = 25
# MPI, which is long and has wide limits of time, begins at once: beside others.
check-short: RULES = mk/testrules-short.yml
check-short: $(ALL_OUTPUTS) $(UNIT_PROGS) ## unit tests, pytest, and MPI by mpirun and scrun in a lab (root)
	@test -e $(MTL_SO) || { echo "check-short: mtl/pm is not built: see the lines above that begin with 'skipped'" >&2; \
		exit 1; }
	@$(call run_tests,$(SHORT_T) $(PYTHON_T) $(UNIT_PROGS))

check-python: ## pytest
	@$(call run_tests,$(PYTHON_T))

# The tests that the sanitizer targets and cov run, each in its own build directory.
check-san: $(TAP_PROGS)
	@$(call run_tests,$(TAP_PROGS))

# setarch: ThreadSanitizer's fixed mappings need the old address layout on newer kernels.
asan: ## unit, simulator and conformance tests with AddressSanitizer
	$(Q)TEST_TIMEOUT=900 $(MAKE) BUILD=build-asan SAN=address check-san
tsan: ## the same with ThreadSanitizer
	$(Q)TEST_TIMEOUT=900 TSAN_OPTIONS="die_after_fork=0 $$TSAN_OPTIONS" setarch -R $(MAKE) BUILD=build-tsan SAN=thread check-san
ubsan: ## the same with UndefinedBehaviorSanitizer
	$(Q)TEST_TIMEOUT=900 $(MAKE) BUILD=build-ubsan SAN=undefined check-san

cov: ## line coverage of those tests, per source file
	$(Q)$(MAKE) BUILD=build-cov OPT='-O0 -g --coverage' LDFLAGS=--coverage check-san
	$(Q)mk/coverage.sh build-cov

fuzz: ## libFuzzer on every decoder, SECS=60 each (clang)
ifdef HAVE_LIBFUZZER
fuzz: $(LIBFUZZERS)
	$(Q)for f in $(FUZZ_NAMES); do \
		mk/run-fuzz $(BUILD)/libfuzzer/$$f $(SECS) || exit 1; done
else
fuzz:
	@echo "skipped: libFuzzer (install clang libclang-rt-dev); make check-fuzz needs neither"
endif

# Builds nothing: the symbols of libpm and circles of calls are judged as they were built last, and skipped before.
lint: ## include directions, file length, symbols, headers, shell, Python, C format, man
	@mk/lint --build $(BUILD)

FORMAT_DIRS := $(wildcard pmcore pm-* mpi-glue scheduler scout tests)
format: ## clang-format every C file in place
	$(Q)find $(FORMAT_DIRS) -name '*.[ch]' -exec clang-format -i {} +

man: ## check the manual pages
	@mk/lint man

protocol: ## docs/protocol.md and seeds of a fuzz program, from scheduler/proto/messages.def
	@mk/protocol

docs: ## the documents as a site, in build/site
	@mk/docs $(BUILD)

# Where it cannot be compared mk/abi says why.
abi: $(LIBPM_LINK) ## libpm compared with the ABI of the last release
	@mk/abi $(LIBPM_LINK) || [ $$? = 77 ]

demo: $(ALL_OUTPUTS) ## a virtual cluster, a real MPI program over it, and the pmtest table (one host only if not root)
	@tests/lab/demo

bench: $(ALL_OUTPUTS) ## every figure; writes docs/bench
	@tests/bench/run --all --write docs/bench

study: $(ALL_OUTPUTS) ## designs of sending against the stages of a message; writes docs/study (root)
	@tests/bench/study --write docs/study

HOURS ?= 1
soak: $(ALL_OUTPUTS) ## HOURS=1 of faults under checked jobs; adds its rounds to docs/soak (root)
	@tests/soak/soak --hours $(HOURS) --write docs/soak --add

# For example APPS_FLAGS="--rounds 3 --programs lammps-melt --links unlimited-1500".
APPS_FLAGS ?=
bench-apps: $(ALL_OUTPUTS) ## whole programs against Open MPI's TCP; writes docs/bench/apps (APPS_FLAGS: options)
	@tests/bench/apps --write docs/bench/apps $(APPS_FLAGS)
