# SPDX-License-Identifier: BSD-3-Clause
# Which source becomes what. One section per kind of directory; a directory that does not exist
# yields nothing. Objects mirror the source tree below $(BUILD)/obj.

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
outputs :=

ifdef COMPILING
$(call stamp,$(BUILD)/flags,$(CC) $(CPPFLAGS) $(PM_CFLAGS) $(LTO) $(CFLAGS))
$(shell mk/probe.sh $(BUILD)/config.mk $(wildcard pmcore/tools/*/libs.mk scheduler/*/libs.mk) >&2)
-include $(BUILD)/config.mk
endif

# --- objects -------------------------------------------------------------------------------------
# Target-specific OBJ_CPPFLAGS, OBJ_CFLAGS: what one kind of object needs beyond the common flags.
define compile
@mkdir -p $(@D)
$(call say,CC,$<)
$(Q)$(CC) $(CPPFLAGS) $(OBJ_CPPFLAGS) $(PM_CFLAGS) $(OBJ_OPT) $(OBJ_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
endef
# A unit test runs for a moment: to optimize it takes longer than it saves. The code that it tests is optimized.
# The check of overlapping strings guesses wrong without an optimizer.
$(BUILD)/obj/tests/unit/%.o: OBJ_OPT = -O0 -Wno-restrict

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(compile)

# --- libpm ---------------------------------------------------------------------------------------
# Without libibverbs's headers something that refuses to open stands for pm-verbs.
LIBPM_DIRS := $(addprefix pmcore/,api channel device wire util) pm-udp pm-udp/stream pm-shmem pm-ethernet \
	      $(if $(HAVE_VERBS),pm-verbs $(addprefix pm-verbs/,hw conn data datagram),pm-verbs/absent)
LIBPM_SRC  := $(sort $(wildcard $(addsuffix /*.c,$(LIBPM_DIRS))))
LIBPM_OBJ  := $(call obj,$(LIBPM_SRC))
LIBPM_MAP  := $(wildcard pmcore/libpm.map)
LIBPM_SO   := $(BUILD)/libpm.so.$(SOVERSION).$(SOMINOR)
LIBPM_A    := $(BUILD)/libpm.a
LIBPM_LINK := $(BUILD)/libpm.so

ifdef COMPILING
$(call stamp,$(BUILD)/libpm.list,$(LIBPM_OBJ) $(LIBPM_MAP))
endif
ifneq ($(LIBPM_SRC),)
outputs += $(LIBPM_SO) $(LIBPM_LINK) $(LIBPM_A)
endif

$(LIBPM_OBJ): OBJ_CFLAGS = $(LTO)
$(LIBPM_SO): $(LIBPM_OBJ) $(LIBPM_MAP) $(BUILD)/libpm.list
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,libpm.so.$(SOVERSION) \
		$(addprefix -Wl$(comma)--version-script=,$(LIBPM_MAP)) \
		$(filter-out -fno-lto,$(PM_LDFLAGS)) $(LTO_LINK) $(LDFLAGS) -o $@ $(LIBPM_OBJ)

$(LIBPM_LINK): $(LIBPM_SO)
	$(Q)ln -sfn $(<F) $(BUILD)/libpm.so.$(SOVERSION)
	$(Q)ln -sfn libpm.so.$(SOVERSION) $@

$(LIBPM_A): $(LIBPM_OBJ) $(BUILD)/libpm.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIBPM_OBJ)

UTIL_OBJ := $(call obj,$(sort $(wildcard pmcore/util/*.c)))
UTIL_A   := $(BUILD)/libpmutil.a
$(UTIL_A): $(UTIL_OBJ) $(BUILD)/libpm.list
	$(Q)rm -f $@ && $(AR) rcs $@ $(UTIL_OBJ)

ifneq ($(wildcard pmcore/libpm.pc.in),)
outputs += $(BUILD)/pkgconfig/libpm.pc
endif
PC_EDIT = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@PREFIX@|$(PREFIX)|g' \
	      -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g'
# For programs built against the tree as it lies here; install writes one for the prefix.
$(BUILD)/pkgconfig/libpm.pc: pmcore/libpm.pc.in mk/version.mk
	@mkdir -p $(@D)
	$(Q)sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@PREFIX@|$(CURDIR)|g' \
		-e 's|@LIBDIR@|$(abspath $(BUILD))|g' \
		-e 's|@INCLUDEDIR@|$(CURDIR)/pmcore/include|g' $< >$@

# The reader of cluster.json and host lists, which pm-ethernetd and the scheduler share.
CLUSTER_OBJ := $(call obj,$(sort $(wildcard cluster/*.c)))
CLUSTER_A   := $(BUILD)/libcluster.a
ifdef COMPILING
$(call stamp,$(BUILD)/cluster.list,$(CLUSTER_OBJ))
endif
$(CLUSTER_A): $(CLUSTER_OBJ) $(BUILD)/cluster.list
	$(Q)rm -f $@ && $(AR) rcs $@ $(CLUSTER_OBJ)

comma := ,
space := $() $()

# --- programs: one directory below pmcore/tools each ---------------------------------------------
# libpm exports the PM calls only; what a program uses of pmcore/util is linked in from an archive.
# RUNPATH finds the library in the build tree; `make install` links them again with the real place.
# PMIx's directory, which pmix.pc wants to be named as well, is left out where the loader finds that library by itself.
PMIX_LIBS   := $(shell libs=$$(pkg-config --libs pmix 2>/dev/null); PATH="$$PATH:/usr/sbin:/sbin"; \
		 found=$$(ldconfig -p 2>/dev/null | sed -n 's/.*libpmix\.so\.[0-9]* .*=> //p' | head -1); \
		 test "$$(pkg-config --variable=libdir pmix 2>/dev/null)/libpmix.so" -ef "$$found" && \
		 libs=$$(echo "$$libs" | sed 's/-Wl,-rpath[ ,=]\(-Wl,\)*[^ ]*//'); echo "$$libs")
TOOL_NAMES  := $(filter-out common,$(sort $(patsubst pmcore/tools/%/,%, \
		$(dir $(wildcard pmcore/tools/*/*.c)))))
-include $(wildcard pmcore/tools/*/libs.mk)
TOOLS       := $(filter-out $(SKIP_TOOLS),$(TOOL_NAMES))
PMIX_CPPFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags pmix 2>/dev/null))
# Code that several programs share; each links the objects of the archive that it uses.
TOOL_COMMON := $(call obj,$(filter-out $(if $(filter pmtest,$(SKIP_TOOLS)),%_pmix.c), \
		$(sort $(wildcard pmcore/tools/common/*.c))))
TOOL_A      := $(BUILD)/libpmtools.a
tool_obj     = $(call obj,$(sort $(wildcard pmcore/tools/$(1)/*.c)))
# $(call link_tool,NAME,RUNPATH,OUTPUT), without one where it is empty
runpath      = $(if $(1),-Wl$(comma)-rpath$(comma)'$(1)')
link_tool    = $(CC) $(call runpath,$(2)) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) \
	       $(LDFLAGS) -o $(3) $(call tool_obj,$(1)) $(TOOL_A) -L$(BUILD) -lpm $(UTIL_A) $($(1)_LIBS)

ifdef COMPILING
$(call stamp,$(BUILD)/tools.list,$(TOOL_COMMON))
endif
$(TOOL_COMMON): OBJ_CPPFLAGS = $(PMIX_CPPFLAGS)
$(TOOL_A): $(TOOL_COMMON) $(BUILD)/tools.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(TOOL_COMMON)

define tool_rule
$(BUILD)/bin/$(1): $(call tool_obj,$(1)) $(TOOL_A) $(LIBPM_LINK) $(UTIL_A) \
		$(wildcard pmcore/tools/$(1)/libs.mk)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(call link_tool,$(1),$$$$ORIGIN/..,$$@)
outputs += $(BUILD)/bin/$(1)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# --- mpi-glue: the pure part, and the Open MPI component -----------------------------------------
GLUE_OBJ := $(call obj,$(sort $(wildcard mpi-glue/common/*.c)))
GLUE_A   := $(BUILD)/libmpiglue.a
MTL_OBJ  := $(call obj,$(sort $(wildcard mpi-glue/mtl/*.c)))
MTL_SO   := $(BUILD)/mca/mca_mtl_pm.so
MTL_HELP := $(patsubst mpi-glue/mtl/%,$(BUILD)/mca/%,$(wildcard mpi-glue/mtl/help-*.txt))
outputs  += $(GLUE_A)

BTL_SO   := $(if $(HAVE_OMPI),$(BUILD)/mca/mca_btl_pm.so)
BTL_OBJ  := $(if $(BTL_SO),$(call obj,$(sort $(wildcard mpi-glue/btl/*.c))))

ifdef COMPILING
$(call stamp,$(BUILD)/glue.list,$(GLUE_OBJ) $(MTL_OBJ) $(BTL_OBJ) $(wildcard mpi-glue/schizo/*.c))
endif

$(GLUE_A): $(GLUE_OBJ) $(BUILD)/glue.list
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(GLUE_OBJ)

# $(call link_mtl,RUNPATH,OUTPUT)
# Another Open MPI than the one it is built for must be able to load it, to be told so. So the
# component names libmpi, which has one name since Open MPI 2, but not the libraries below it.
# Functions are looked for when they are called. So the linker can't see what is missing: check_mtl
# links once more, with all libraries.
# Open MPI unloads its components at the end, while PMIx's thread may still be on its way out of our
# callback (fence_ended): nodelete keeps the code where it is.
# mtl/pm and btl/pm are one file with two names: so they have one PM context in common.
mtl_libs  = $(MTL_OBJ) $(BTL_OBJ) $(GLUE_OBJ) -L$(BUILD) -lpm
link_mtl  = $(CC) -shared $(call runpath,$(1)) -Wl,--version-script=mk/mca.map $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) \
	    $(LDFLAGS) -Wl,-z,lazy,-z,nodelete -o $(2) $(mtl_libs) $(filter -L% -lmpi,$(OMPI_LIBS))
check_mtl = $(CC) -shared $(PM_LDFLAGS) $(LDFLAGS) -Wl,--no-as-needed -o $(1) $(mtl_libs) $(OMPI_LIBS)

# Only Open MPI 4 has ORTE, and needs to be told of scrun.
SCHIZO_OBJ := $(if $(HAVE_ORTE),$(call obj,$(sort $(wildcard mpi-glue/schizo/*.c))))
SCHIZO_SO  := $(if $(SCHIZO_OBJ),$(BUILD)/mca/mca_schizo_score.so)
link_schizo = $(CC) -shared -Wl,--version-script=mk/mca.map $(PM_LDFLAGS) $(LDFLAGS) -o $(1) $(SCHIZO_OBJ) $(OMPI_LIBS)

# Only Open MPI 5 has its parameters from PMIx's server, and needs to be told that some are PMIx's own.
PMDL_OBJ := $(if $(HAVE_PMDL),$(call obj,$(sort $(wildcard mpi-glue/pmdl/*.c))))
PMDL_SO  := $(if $(PMDL_OBJ),$(BUILD)/pmix/pmix_mca_pmdl_score.so)
$(PMDL_OBJ): OBJ_CPPFLAGS = $(PMIX_CPPFLAGS)
$(PMDL_OBJ): OBJ_CFLAGS = -Wno-missing-field-initializers
$(PMDL_SO): $(PMDL_OBJ) mk/mca.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,--version-script=mk/mca.map $(PM_LDFLAGS) $(LDFLAGS) -o $@ $(PMDL_OBJ) \
		$(filter-out -Wl$(comma)%,$(shell pkg-config --libs pmix))

ifneq ($(and $(MTL_OBJ),$(HAVE_OMPI)),)
MPI_COMPONENTS := $(MTL_SO) $(BTL_SO) $(SCHIZO_SO) $(PMDL_SO)
outputs += $(MPI_COMPONENTS) $(MTL_HELP)
endif
outputs += $(BUILD)/env.sh
# Which algorithms Open MPI takes for collective operations over PM: the rules, and what names them to mpirun.
# They lie as they are installed, so that scstepd finds them beside itself.
COLL_RULES := mpi-glue/collectives/collectives.rules
COLL_TUNE  := mpi-glue/collectives/collectives.tune.in
COLL_BUILT := $(BUILD)/share/openscore/collectives.rules $(BUILD)/share/openscore/collectives.tune
TUNE_EDIT   = sed -e 's|@SHAREDIR@|$(1)|g' $(COLL_TUNE)
outputs    += $(COLL_BUILT)
$(BUILD)/share/openscore/collectives.rules: $(COLL_RULES)
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/share/openscore/collectives.tune: $(COLL_TUNE)
	@mkdir -p $(@D)
	$(Q)$(call TUNE_EDIT,$(abspath $(@D))) >$@
$(BTL_SO): $(MTL_SO)
	$(Q)ln -sf $(<F) $@
$(SCHIZO_OBJ): OBJ_CPPFLAGS = $(OMPI_CPPFLAGS)
$(SCHIZO_OBJ): OBJ_CFLAGS = -Wno-missing-field-initializers
$(SCHIZO_SO): $(SCHIZO_OBJ) mk/mca.map $(BUILD)/glue.list
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call link_schizo,$@)
MTL_TEST_OBJ := $(call obj,$(wildcard tests/unit/mpi-glue/mtl/*.c tests/unit/mpi-glue/btl/*.c))
$(MTL_OBJ) $(BTL_OBJ) $(MTL_TEST_OBJ): OBJ_CPPFLAGS = $(OMPI_CPPFLAGS)
# Open MPI's version macros leave the last fields of a component out.
$(MTL_OBJ) $(BTL_OBJ) $(MTL_TEST_OBJ): OBJ_CFLAGS = -Wno-missing-field-initializers
# Open MPI's inline lists use the 16-byte compare-and-swap that the library was built with.
$(MTL_OBJ) $(BTL_OBJ) $(MTL_TEST_OBJ): OBJ_CFLAGS += $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),-mcx16)
$(MTL_SO): $(MTL_OBJ) $(BTL_OBJ) $(GLUE_OBJ) $(LIBPM_LINK) mk/mca.map $(BUILD)/glue.list
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call check_mtl,$(BUILD)/obj/mtl_check.so) && rm $(BUILD)/obj/mtl_check.so
	$(Q)$(call link_mtl,$$ORIGIN/..,$@)

# The component looks for its help texts beside itself as well.
$(MTL_HELP): $(BUILD)/mca/%: mpi-glue/mtl/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

# `. build/env.sh` lets shell, mpirun, man and pkg-config find everything without an installation. Lines for an
# Open MPI that is not there are left out. PMIx 5 would take Open MPI's path for its own and complain of what it finds
# there, had it none.
OMPI5    := $(if $(HAVE_OMPI),$(if $(HAVE_ORTE),,1))
ENV_EDIT = -e 's|@BUILD@|$(abspath $(BUILD))|g' -e 's|@TOP@|$(CURDIR)|g' \
	   $(if $(HAVE_OMPI),-e "s|@PKGLIBDIR@|$$(ompi_info --path pkglibdir | sed 's/.*: *//')|g",-e /OMPI_MCA/d) \
	   $(if $(OMPI5),,-e /PMIX_MCA/d)
$(BUILD)/env.sh: mk/env.sh.in $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(Q)for page in $(abspath $(wildcard */man/*.[1-9] */*/man/*.[1-9] */*/*/man/*.[1-9])); do \
		section=$(abspath $(BUILD))/man/man$${page##*.}; \
		mkdir -p $$section && ln -sf $$page $$section/; done
	$(Q)$(if $(OMPI5),mkdir -p $(BUILD)/pmix)
	$(Q)sed $(ENV_EDIT) $< >$@

# --- BPF programs --------------------------------------------------------------------------------
BPF_LAB := $(patsubst tests/%.bpf.c,$(BUILD)/%.bpf.o,$(sort $(wildcard tests/lab/*.bpf.c)))
BPF_ETH := $(patsubst pm-ethernet/%.bpf.c,$(BUILD)/%.bpf.o,$(sort $(wildcard pm-ethernet/bpf/*.bpf.c)))
outputs += $(if $(HAVE_CLANG),$(BPF_LAB))
outputs += $(if $(HAVE_LIBBPF),$(BPF_ETH))

# The kernel's headers include some of the machine's own, which a BPF target does not look for.
BPF_WARN     := -Wall $(filter -Werror,$(WARN))
BPF_CPPFLAGS := -I. -idirafter /usr/include/$(subst -pc-,-,$(shell $(CC) -dumpmachine))

define compile_bpf
@mkdir -p $(@D)
$(call say,BPF,$<)
$(Q)clang -O2 -g -target bpf -mcpu=v3 $(BPF_WARN) $(BPF_CPPFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
endef

$(BPF_LAB): $(BUILD)/%.bpf.o: tests/%.bpf.c
	$(compile_bpf)
$(BPF_ETH): $(BUILD)/%.bpf.o: pm-ethernet/%.bpf.c
	$(compile_bpf)

# --- pm-ethernetd --------------------------------------------------------------------------------
# The daemon is given the place of its BPF objects when it is linked (pm-ethernet/bpf/object.h): the
# build tree's here, the installed ones by `make install`.
ETHD_SRC   := $(sort $(wildcard pm-ethernet/daemon/*.c))
ETHD_OBJ   := $(call obj,$(ETHD_SRC))
ETHD_A     := $(BUILD)/libethd.a
ETHD_LIBS  := -lbpf -ljansson
ETHD       := $(if $(filter pm-ethernetd,$(SKIP_TOOLS))$(if $(HAVE_LIBBPF),,no),,$(if $(ETHD_SRC), \
		$(BUILD)/bin/pm-ethernetd))
BPF_PLACE  := $(BUILD)/obj/bpf_place.o
outputs    += $(ETHD)

# $(call place_bpf,DIRECTORY,OUTPUT)
place_bpf   = echo 'const char eth_bpf_object[] = "$(1)/pm_ethernet.bpf.o";' \
	           'const char eth_bpf_object_tc[] = "$(1)/pm_ethernet_tc.bpf.o";' | \
	      $(CC) $(PM_CFLAGS) $(CFLAGS) -x c -c -o $(2) -
# $(call link_ethd,PLACE_OBJECT,OUTPUT)
link_ethd   = $(CC) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) $(LDFLAGS) -o $(2) \
	      $(ETHD_OBJ) $(1) $(CLUSTER_A) $(LIBPM_A) $(ETHD_LIBS)

ifdef COMPILING
$(call stamp,$(BUILD)/ethd.list,$(ETHD_OBJ))
endif

$(BPF_PLACE): $(BUILD)/flags mk/rules.mk
	@mkdir -p $(@D)
	$(Q)$(call place_bpf,$(abspath $(BUILD))/bpf,$@)

# For unit tests. Its main() must not win over theirs when they use another function of its file.
$(ETHD_A): $(ETHD_OBJ) $(BUILD)/ethd.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(ETHD_OBJ) && objcopy --weaken-symbol=main $@

$(BUILD)/bin/pm-ethernetd: $(ETHD_OBJ) $(BPF_PLACE) $(BPF_ETH) $(CLUSTER_A) $(LIBPM_A) $(BUILD)/ethd.list
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call link_ethd,$(BPF_PLACE),$@)

# --- the launcher and scheduler ------------------------------------------------------------------
find_tests   = $(sort $(shell find $(wildcard $(1)) -name '*_test.c' 2>/dev/null))
program      = $(patsubst %.c,$(BUILD)/%,$(1))
include mk/scheduler.mk

# --- test programs -------------------------------------------------------------------------------
HARNESS_OBJ := $(call obj,$(filter-out tests/harness/fuzz_main.c, \
		$(sort $(wildcard tests/harness/*.c))))
UNIT_SRC    := $(if $(wildcard tests/unit),$(call find_tests,tests/unit))
# Tests of the kernel programs and of the daemon are there when what they judge is.
BPF_TESTS   := $(filter tests/unit/pm-ethernet/bpf/%,$(UNIT_SRC))
ETHD_TESTS  := $(filter tests/unit/pm-ethernet/daemon/%,$(UNIT_SRC))
CLUSTER_TESTS := $(filter tests/unit/cluster/%,$(UNIT_SRC))
VERBS_TESTS := $(filter tests/unit/pm-verbs/%,$(UNIT_SRC))
MTL_TESTS   := $(filter tests/unit/mpi-glue/mtl/%,$(UNIT_SRC))
BTL_TESTS   := $(filter tests/unit/mpi-glue/btl/%,$(UNIT_SRC))
UNIT_SRC    := $(filter-out $(if $(HAVE_LIBBPF),,$(BPF_TESTS)) $(if $(ETHD),,$(ETHD_TESTS)) $(SCHED_SKIP) \
	       $(if $(HAVE_JANSSON),,$(CLUSTER_TESTS)) $(if $(HAVE_VERBS),,$(VERBS_TESTS)) $(if $(HAVE_OMPI),,$(MTL_TESTS)) \
	       $(if $(BTL_SO),,$(BTL_TESTS)),$(UNIT_SRC))
SIM_SRC     := $(wildcard tests/sim/*_test.c)
CONF_SRC    := $(wildcard tests/conformance/*_test.c)
UNIT_PROGS  := $(call program,$(UNIT_SRC))
SIM_PROGS   := $(call program,$(SIM_SRC))
CONF_PROGS  := $(call program,$(CONF_SRC))
TAP_PROGS   := $(UNIT_PROGS) $(SIM_PROGS) $(CONF_PROGS)

# Helpers shared by the tests of one directory: its *.c that are no test themselves.
SIM_HELP    := $(call obj,$(filter-out %_test.c,$(wildcard tests/sim/*.c)))
CONF_HELP   := $(call obj,$(filter-out %_test.c,$(wildcard tests/conformance/*.c)))
$(SIM_PROGS): $(SIM_HELP)
$(CONF_PROGS): $(CONF_HELP)
unit_help    = $(call obj,$(filter-out %_test.c,$(wildcard tests/unit/pm-ethernet/$(1)/*.c)))
$(call program,$(BPF_TESTS)): $(call unit_help,bpf) $(BPF_PLACE) | $(BPF_ETH)
$(call program,$(BPF_TESTS)): TEST_LIBS = -lbpf
$(call program,$(ETHD_TESTS)): $(call unit_help,daemon) $(BPF_PLACE) $(ETHD_A) $(CLUSTER_A) | $(BPF_ETH)
$(call program,$(ETHD_TESTS)): TEST_LIBS = $(ETHD_A) $(CLUSTER_A) $(LIBPM_A) $(ETHD_LIBS)
CLUSTER_HELP := $(call obj,$(filter-out %_test.c,$(wildcard tests/unit/cluster/*.c)))
$(call program,$(CLUSTER_TESTS)): $(CLUSTER_HELP) $(CLUSTER_A)
$(call program,$(CLUSTER_TESTS)): TEST_LIBS = $(CLUSTER_A) $(LIBPM_A) -ljansson
VERBS_HELP  := $(call obj,$(filter-out %_test.c,$(wildcard tests/unit/pm-verbs/*.c)))
$(call program,$(VERBS_TESTS)): $(VERBS_HELP)

# TEST_LDFLAGS=-Wl,-S where nobody will debug these: to copy what a debugger wants takes half of the linker's time.
TEST_LDFLAGS ?=
link_test = $(CC) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) $(LDFLAGS) $(TEST_LDFLAGS) -o $(1) \
	    $(filter %.o,$(2)) $(GLUE_A) $(TOOL_A) $(LIBPM_A) -lm -ldl $(TEST_LIBS)

MTL_PROGS := $(call program,$(MTL_TESTS))
BTL_PROGS := $(if $(BTL_SO),$(call program,$(BTL_TESTS)))
$(filter-out $(MTL_PROGS) $(BTL_PROGS),$(TAP_PROGS)): $(BUILD)/%: $(BUILD)/obj/%.o $(HARNESS_OBJ) $(GLUE_A) $(TOOL_A) $(LIBPM_A)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call link_test,$@,$^)

# Tests of the component for Open MPI: a fake of PM stands below all its files, and no function of Open MPI starts it.
MTL_FAKES := $(call obj,$(filter-out %_test.c,$(wildcard tests/unit/mpi-glue/mtl/*.c)) tests/harness/tap.c)
BTL_HELP  := $(call obj,$(filter-out %_test.c,$(wildcard tests/unit/mpi-glue/btl/*.c)))
$(BTL_PROGS): $(BTL_HELP) $(BTL_OBJ)
$(MTL_PROGS) $(BTL_PROGS): $(BUILD)/%: $(BUILD)/obj/%.o $(MTL_FAKES) $(MTL_OBJ) $(GLUE_A) $(UTIL_A)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ \
		$(filter %.o,$^) $(filter %.a,$^) -lm -ldl $(OMPI_LIBS)

# --- what tests run beside themselves ---------------------------------------------------------------
BPF_TOOLS  := $(BUILD)/tests/tools/relay_time
TEST_TOOLS := $(call program,$(sort $(wildcard tests/tools/*.c)))
VERBS_TOOLS := $(filter $(BUILD)/tests/tools/verbs_%,$(TEST_TOOLS))
TEST_TOOLS := $(filter-out $(if $(HAVE_LIBBPF),,$(BPF_TOOLS)) $(if $(HAVE_VERBS),,$(VERBS_TOOLS)),$(TEST_TOOLS))
outputs    += $(TEST_TOOLS)

$(BPF_TOOLS): $(call obj,tests/unit/pm-ethernet/bpf/bed.c tests/harness/tap.c) $(BPF_PLACE) | $(BPF_ETH)
$(BPF_TOOLS): TEST_LIBS = -lbpf
$(VERBS_TOOLS): $(VERBS_HELP) $(call obj,tests/harness/tap.c)

$(TEST_TOOLS): $(BUILD)/%: $(BUILD)/obj/%.o $(call obj,tests/harness/grids.c) $(GLUE_A) $(TOOL_A) $(LIBPM_A)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call link_test,$@,$^)

# The program that simulates hypercrossbars of thousands of hosts, from the same parts as the tests.
HXBSIM_OBJ := $(call obj,$(sort $(wildcard tests/sim/hxbsim/*.c)))
HXBSIM     := $(if $(HXBSIM_OBJ),$(BUILD)/tests/sim/hxbsim)
outputs    += $(HXBSIM)

ifdef COMPILING
$(call stamp,$(BUILD)/hxbsim.list,$(HXBSIM_OBJ) $(SIM_HELP))
endif
$(HXBSIM): $(HXBSIM_OBJ) $(SIM_HELP) $(HARNESS_OBJ) $(GLUE_A) $(TOOL_A) $(LIBPM_A) $(BUILD)/hxbsim.list
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call link_test,$@,$^)

# The same patterns on a lab, to compare.
HXBLAB_OBJ := $(call obj,$(sort $(wildcard tests/sim/hxblab/*.c)))
HXBLAB     := $(if $(filter pmtest,$(SKIP_TOOLS)),,$(if $(HXBLAB_OBJ),$(BUILD)/tests/sim/hxblab))
outputs    += $(HXBLAB)

$(HXBLAB): TEST_LIBS = $(pmtest_LIBS)
$(HXBLAB): $(HXBLAB_OBJ) $(filter-out %/main.o,$(HXBSIM_OBJ)) $(SIM_HELP) $(HARNESS_OBJ) $(GLUE_A) $(TOOL_A) \
		$(LIBPM_A) $(BUILD)/hxbsim.list
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call link_test,$@,$^)

# --- fuzz targets: with a driver of our own, and with libFuzzer -----------------------------------
# The libraries are compiled once more with a sanitizer for each of the two.
# The scheduler's decoders are fuzzed where its programs can be built.
FUZZ_SCHED := $(if $(filter scrun,$(SKIP_TOOLS)),,$(sort $(wildcard scheduler/proto/*.c)) \
	      cluster/file.c scheduler/scstepd/pmi1_line.c scheduler/scstepd/pmi1_space.c scheduler/scstepd/standstill_part.c \
	      scheduler/scremote/message.c $(addprefix scheduler/scnoded/,holdings/procline.c holdings/sockdiag.c store/hostfile.c))
FUZZ_SRC   := $(filter-out $(if $(FUZZ_SCHED),,tests/fuzz/sched_%) $(if $(HAVE_VERBS),,tests/fuzz/verbs_%),$(sort $(wildcard tests/fuzz/*_fuzz.c)))
FUZZ_LIBS  := $(if $(FUZZ_SCHED),$(SCHED_LIBS))
FUZZ_NAMES := $(patsubst tests/fuzz/%.c,%,$(FUZZ_SRC))
FUZZ_LIB   := $(LIBPM_SRC) cluster/hostexpr.c cluster/hostlist.c cluster/nameset.c $(sort $(wildcard mpi-glue/common/*.c)) $(FUZZ_SCHED) \
	      $(filter-out %_fuzz.c,$(wildcard tests/fuzz/*.c))
FUZZ_MAIN  := tests/harness/fuzz_main.c tests/harness/tap.c
FUZZ_PROGS := $(addprefix $(BUILD)/tests/fuzz/,$(FUZZ_NAMES))
LIBFUZZERS := $(addprefix $(BUILD)/libfuzzer/,$(FUZZ_NAMES))

# $(call fuzz_variant,VARIANT,COMPILER,MORE_SOURCES,OUTPUT_DIR,LINK_FLAGS), with the sanitizers in SAN_VARIANT.
SAN_fuzz      := address$(comma)undefined
SAN_libfuzzer := fuzzer-no-link$(comma)address
define fuzz_variant
$(BUILD)/$(1)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,"$$< ($(1))")
	$$(Q)$(2) $$(CPPFLAGS) $$(PM_CFLAGS) $$(call san_flags,$$(SAN_$(1))) -Wno-missing-prototypes \
		$$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(addprefix $(4)/,$(FUZZ_NAMES)): $(4)/%: $(BUILD)/$(1)/obj/tests/fuzz/%.o \
		$(patsubst %.c,$(BUILD)/$(1)/obj/%.o,$(FUZZ_LIB) $(3))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$(2) -pthread -fsanitize=$$(SAN_$(1)) $(5) -o $$@ $$^ -lm -ldl $(FUZZ_LIBS)
endef
ifeq ($(findstring thread,$(SAN)),)
$(eval $(call fuzz_variant,fuzz,$(CC),$(FUZZ_MAIN),$(BUILD)/tests/fuzz))
else
FUZZ_PROGS :=
endif
$(eval $(call fuzz_variant,libfuzzer,clang,,$(BUILD)/libfuzzer,-fsanitize=fuzzer))

# --- MPI programs and benchmarks -----------------------------------------------------------------
MPI_PROGS   := $(patsubst tests/mpi/%.c,$(BUILD)/mpi/%,$(sort $(wildcard tests/mpi/*.c)))
BENCH_SRC   := $(sort $(wildcard tests/bench/src/*.c))
BENCH_MPI   := $(patsubst tests/bench/src/%.c,$(BUILD)/bench/%, \
		$(wildcard tests/bench/src/mpi_*.c))
BENCH_PMIX  := $(patsubst tests/bench/src/%.c,$(BUILD)/bench/%, \
		$(wildcard tests/bench/src/pmix_*.c))
BENCH_SO    := $(BUILD)/bench/callwatch.so
BENCH_PROFILE     := $(BUILD)/bench/mpiprofile.so
BENCH_PROFILE_SRC := $(sort $(wildcard tests/bench/mpiprofile/*.c))
BENCH_PM    := $(filter-out $(BENCH_MPI) $(BENCH_PMIX) $(BENCH_SO:.so=), \
		$(patsubst tests/bench/src/%.c,$(BUILD)/bench/%,$(BENCH_SRC)))

ifneq ($(HAVE_MPICC),)
outputs += $(MPI_PROGS) $(BENCH_MPI) $(BENCH_PROFILE)
endif
outputs += $(BENCH_PM) $(BENCH_SO) $(if $(filter scstepd,$(SKIP_TOOLS)),,$(BENCH_PMIX))
$(BENCH_PMIX:$(BUILD)/bench/%=$(BUILD)/obj/tests/bench/src/%.o): OBJ_CPPFLAGS = $(PMIX_CPPFLAGS)

define compile_mpi
@mkdir -p $(@D) $(BUILD)/obj/$(<D)
$(call say,MPICC,$<)
$(Q)OMPI_CC="$(CC)" mpicc -D_GNU_SOURCE -I. $(PM_CFLAGS) $(CFLAGS) -MMD -MP \
	-MF $(BUILD)/obj/$(<:.c=.d) -MT $@ -o $@ $< -pthread $(addprefix -fsanitize=,$(SAN)) $(MPI_LIBS) -lm
endef

$(MPI_PROGS): $(BUILD)/mpi/%: tests/mpi/%.c $(BUILD)/flags
	$(compile_mpi)
# It makes Fortran's calls as well.
$(BUILD)/mpi/counted: MPI_LIBS = -lmpi_mpifh
$(BENCH_MPI): $(BUILD)/bench/%: tests/bench/src/%.c $(BUILD)/flags
	$(compile_mpi)
# Loaded before an MPI program, whose MPI calls it times.
$(BENCH_PROFILE): $(BENCH_PROFILE_SRC) $(wildcard tests/bench/mpiprofile/*.h) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)OMPI_CC="$(CC)" mpicc -D_GNU_SOURCE -I. $(PM_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $(BENCH_PROFILE_SRC) \
		-pthread $(addprefix -fsanitize=,$(SAN))
$(BENCH_PMIX): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/src/%.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) $(LDFLAGS) -o $@ $< $$(pkg-config --libs pmix)
# Loaded before a program, whose system calls it sees.
$(BENCH_SO): $(BUILD)/bench/%.so: $(BUILD)/obj/tests/bench/src/%.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(PM_LDFLAGS) $(LDFLAGS) -o $@ $< -ldl
$(BENCH_PM): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/src/%.o $(LIBPM_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -Wl,-rpath,'$$ORIGIN/..' $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) \
		$(LDFLAGS) -o $@ $< -L$(BUILD) -lpm -lm

# One program of several files: what docs/study is measured with.
DESIGNS_OBJ := $(call obj,$(sort $(wildcard tests/bench/designs/*.c)))
DESIGNS     := $(if $(DESIGNS_OBJ),$(BUILD)/bench/send_designs)
outputs     += $(DESIGNS)
$(DESIGNS): $(DESIGNS_OBJ) $(LIBPM_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -Wl,-rpath,'$$ORIGIN/..' $(filter-out -Wl$(comma)-z$(comma)defs,$(PM_LDFLAGS)) \
		$(LDFLAGS) -o $@ $(DESIGNS_OBJ) -L$(BUILD) -lpm

ALL_OUTPUTS := $(outputs)

ifdef COMPILING
# Other systems may be unpacked beside these directories.
-include $(shell find $(addprefix $(BUILD)/,obj fuzz libfuzzer lab bpf) -name '*.d' 2>/dev/null)
endif
