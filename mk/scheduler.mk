# SPDX-License-Identifier: BSD-3-Clause
# The programs of scheduler/: one directory each, what they share in scheduler/proto and scheduler/gang.
# A program's libs.mk lists what the program needs; the program is skipped when something of it is missing.

-include $(wildcard scheduler/*/libs.mk)
SCHED_NAMES  := $(sort $(patsubst scheduler/%/libs.mk,%,$(wildcard scheduler/*/libs.mk)))
SCHED_PROGS  := $(filter-out $(SKIP_TOOLS),$(SCHED_NAMES))
SCHED_COMMON := $(call obj,$(sort $(wildcard scheduler/proto/*.c scheduler/gang/*.c)))
SCHED_A      := $(BUILD)/libsched.a
sched_obj     = $(call obj,$(sort $(wildcard scheduler/$(1)/*.c scheduler/$(1)/*/*.c)))
SCHED_LIBS   := -ljansson -lev -lmunge -lsodium -lm -pthread

ifdef COMPILING
$(call stamp,$(BUILD)/sched.list,$(SCHED_COMMON) $(foreach p,$(SCHED_PROGS),$(call sched_obj,$(p))))
endif
# PMIx's headers are not written for our warnings.
$(call sched_obj,scstepd) $(call obj,$(wildcard tests/unit/scheduler/scstepd/*.c tests/unit/scheduler/scstepd/pmix/*.c)): OBJ_CPPFLAGS = $(PMIX_CPPFLAGS)

$(SCHED_A): $(SCHED_COMMON) $(BUILD)/sched.list
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(SCHED_COMMON)

outputs += $(if $(SCHED_COMMON),$(if $(filter scrun,$(SKIP_TOOLS)),,$(SCHED_A)))

# $(call link_sched,NAME,OUTPUT)
link_sched = $(CC) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) $(LDFLAGS) -o $(2) \
	     $(call sched_obj,$(1)) $(SCHED_A) $(CLUSTER_A) $(UTIL_A) $($(1)_LIBS) $(SCHED_LIBS)

# The archive is for unit tests: its main() must not win over theirs.
define sched_rule
$(BUILD)/bin/$(1): $(call sched_obj,$(1)) $(SCHED_A) $(CLUSTER_A) $(UTIL_A) $(BUILD)/sched.list scheduler/$(1)/libs.mk
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(call link_sched,$(1),$$@)
$(BUILD)/lib$(1).a: $(call sched_obj,$(1)) $(BUILD)/sched.list
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $(call sched_obj,$(1)) && objcopy --weaken-symbol=main $$@
outputs += $(BUILD)/bin/$(1)
endef
$(foreach p,$(SCHED_PROGS),$(if $(wildcard scheduler/$(p)/main.c),$(eval $(call sched_rule,$(p)))))

# Unit tests below tests/unit/scheduler/NAME use the program's archive, those of proto and gang the common one.
SCHED_TESTS := $(filter tests/unit/scheduler/%,$(call find_tests,tests/unit))
sched_of     = $(word 4,$(subst /, ,$(1)))
is_skipped   = $(filter $(subst proto,scrun,$(subst gang,scrun,$(call sched_of,$(1)))),$(SKIP_TOOLS))
SCHED_SKIP  := $(foreach t,$(SCHED_TESTS),$(if $(call is_skipped,$(t)),$(t)))
# Helpers that the tests of one directory share: its *.c that are no test themselves. An archive, so that a test may bring fakes of
# functions that a helper it does not use would link.
sched_help   = $(call obj,$(filter-out %_test.c,$(wildcard $(dir $(1))*.c)))
sched_help_a = $(if $(call sched_help,$(1)),$(BUILD)/$(dir $(1))help.a)
define sched_help_rule
$(BUILD)/$(1)help.a: $(call sched_help,$(1))
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
define sched_test_rule
$(call program,$(1)): $(call sched_help_a,$(1)) $(CLUSTER_A) $(UTIL_A)
$(call program,$(1)): $(if $(filter proto gang,$(call sched_of,$(1))),,$(BUILD)/lib$(call sched_of,$(1)).a) $(SCHED_A)
$(call program,$(1)): TEST_LIBS = $(call sched_help_a,$(1)) $(if $(filter proto gang,$(call sched_of,$(1))),, \
	$(BUILD)/lib$(call sched_of,$(1)).a) $(SCHED_A) $(CLUSTER_A) $(UTIL_A) $($(call sched_of,$(1))_LIBS) $(SCHED_LIBS)
endef
SCHED_RUN   := $(filter-out $(SCHED_SKIP),$(SCHED_TESTS))
$(foreach d,$(sort $(dir $(SCHED_RUN))),$(if $(call sched_help,$(d)),$(eval $(call sched_help_rule,$(d)))))
$(foreach t,$(SCHED_RUN),$(eval $(call sched_test_rule,$(t))))
# It needs a munged as the tests of links do.
$(BUILD)/tests/unit/scheduler/scremote/parent_test: $(call obj,tests/unit/scheduler/proto/link_world.c)

# For tests/system/criu.t: namespaces, dump and restore of scnoded without a daemon.
CRIUJOB := $(if $(filter scnoded,$(SCHED_PROGS)),$(if $(wildcard tests/system/criujob.c),$(BUILD)/tests/system/criujob))
outputs += $(CRIUJOB)
$(CRIUJOB): $(call obj,tests/system/criujob.c) $(BUILD)/libscnoded.a $(SCHED_A) $(CLUSTER_A) $(UTIL_A)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) $(LDFLAGS) -o $@ $^ $(scnoded_LIBS) $(SCHED_LIBS)
