# SPDX-License-Identifier: BSD-3-Clause
# OpenSCore: every target. Sources are found by their directory (mk/rules.mk); adding a file never
# needs an edit here. `make help` lists what there is.

BUILD ?= build
# An output directory inside the tree keeps its short name; the test programs get the full one.
export PM_BUILD := $(abspath $(BUILD))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Goals that neither compile nor need to know what the machine offers.
BARE_GOALS := help clean asan tsan ubsan cov format man uninstall
ifneq ($(filter-out $(BARE_GOALS),$(or $(MAKECMDGOALS),all)),)
COMPILING := 1
endif

include mk/version.mk
include mk/flags.mk
include mk/rules.mk
include mk/check.mk
include mk/install.mk

.PHONY: all clean help

# It scrolled by at the beginning.
MTL_WARNING = *** mtl/pm was NOT built, MPI programs cannot use PM. $(MTL_MISSING) ***

all: $(ALL_OUTPUTS) ## build everything this machine can (V=1 shows commands, CC=clang, BUILD=dir)
	$(if $(MTL_MISSING),$(info $(MTL_WARNING)))

clean: ## remove every build directory
	$(Q)rm -rf $(BUILD) build-asan build-tsan build-ubsan build-cov

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST)
