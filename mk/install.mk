# SPDX-License-Identifier: BSD-3-Clause
# install and uninstall. DESTDIR stages a package, PREFIX chooses the place. The Open MPI component
# goes where the Open MPI of this machine looks for components if PREFIX is the default one or Open MPI's own;
# with any other nothing is written outside it (OMPI_PLUGINDIR, OMPI_HELPDIR). Python's modules are compiled
# here, as users may not write beside them and would do it for each command again; a package compiles where it lands.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
SBINDIR    ?= $(PREFIX)/sbin
# /usr belongs to the distribution, whose libraries may lie in a directory for each architecture.
MULTIARCH  := $(if $(filter /usr,$(PREFIX:%/=%)),$(shell $(CC) -print-multiarch 2>/dev/null))
LIBDIR     ?= $(PREFIX)/lib$(if $(MULTIARCH),/$(MULTIARCH))
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
# Python programs lie here beside their packages; BINDIR gets links to them.
SHAREDIR   ?= $(PREFIX)/share/openscore
# Directories of the BPF programs that pm-ethernetd loads into the kernel, and of the units of systemd.
BPFDIR     ?= $(PREFIX)/lib/openscore
UNITDIR    ?= $(PREFIX)/lib/systemd/system
# Installed programs name the library's directory where the loader does not look by itself. RUNPATH= leaves it out.
# /usr/lib may be the same directory as /lib, which alone is listed then.
LOADER_DIRS = $(shell PATH="$$PATH:/usr/sbin:/sbin" ldconfig -N -X -v 2>/dev/null | sed -n 's|^\(/[^:]*\):.*|\1|p')
RUNPATH    ?= $(if $(filter $(LIBDIR) $(LIBDIR:/usr/lib%=/lib%),$(LOADER_DIRS)),,$(LIBDIR))

ompi_path        = $(shell ompi_info --path $(1) 2>/dev/null | sed 's/^[^:]*: *//')
IN_OMPI          = $(filter $(PREFIX:%/=%),/usr/local $(call ompi_path,prefix))
OMPI_PLUGINDIR  ?= $(if $(IN_OMPI),$(call ompi_path,pkglibdir),$(LIBDIR)/openmpi)
# The component looks beside itself, too.
OMPI_HELPDIR    ?= $(if $(IN_OMPI),$(call ompi_path,pkgdatadir),$(OMPI_PLUGINDIR))

# With Open MPI 5: where PMIx looks for its components.
PMIX_PLUGINDIR  ?= $(if $(IN_OMPI),$(shell pkg-config --variable=libdir pmix)/pmix,$(LIBDIR)/openscore/pmix)

MAN_PAGES   := $(wildcard */man/*.[1-9] */*/man/*.[1-9] */*/*/man/*.[1-9])
PUBLIC_H    := $(wildcard pmcore/include/*.h)
MPI_HELP    := $(wildcard mpi-glue/*/help-*.txt)
UNITS       := $(wildcard pm-*/*.service.in)
SCHED_UNITS := $(wildcard scheduler/units/*.service.in)
# scstepd lies beside scnoded, who starts it.
SCHED_SBIN  := $(filter-out scrun,$(SCHED_PROGS))
HAS_MTL     := $(and $(MTL_OBJ),$(HAVE_OMPI))

# Program and the directory it lies in with all that it needs beside it.
PY_PROGRAMS := $(wildcard configs/scconf tests/lab/sclab pm-ethernet/ctl/pm-ethernetctl \
	       $(addprefix scheduler/ctl/,scqueue scancel sccheckpoint scinfo scmigrate sctop scpool) \
	       $(addprefix scout/,scout msgb msgblock sceptic sc_watch))
# They read the version from mk/version.mk.
PY_FILES    := $(filter-out %/demo,$(shell find $(wildcard configs tests/lab pm-ethernet/ctl scheduler/ctl scout) -type f \
	       ! -path '*/__pycache__/*' ! -path '*/man/*' ! -name '*.t' 2>/dev/null)) mk/version.mk
share_of     = $(SHAREDIR)/$(patsubst tests/%,%,$(1))

SHARED_LIB := $(LIBDIR)/libpm.so.$(SOVERSION).$(SOMINOR)
RECORD     := $(SHAREDIR)/installed
INSTALLED   = $(TOOLS:%=$(BINDIR)/%) $(SHARED_LIB) $(LIBDIR)/libpm.so.$(SOVERSION) \
	      $(LIBDIR)/libpm.so $(LIBDIR)/libpm.a $(LIBDIR)/pkgconfig/libpm.pc \
	      $(PUBLIC_H:pmcore/include/%=$(INCLUDEDIR)/%) \
	      $(foreach m,$(MAN_PAGES),$(MANDIR)/man$(lastword $(subst ., ,$(m)))/$(notdir $(m))) \
	      $(if $(ETHD),$(SBINDIR)/pm-ethernetd $(addprefix $(BPFDIR)/,$(notdir $(BPF_ETH))) \
	      $(addprefix $(UNITDIR)/,$(basename $(notdir $(UNITS))))) \
	      $(SCHED_SBIN:%=$(SBINDIR)/%) $(if $(filter scrun,$(SCHED_PROGS)),$(BINDIR)/scrun) \
	      $(if $(SCHED_SBIN),$(addprefix $(UNITDIR)/,$(basename $(notdir $(SCHED_UNITS))))) \
	      $(if $(HAS_MTL),$(OMPI_PLUGINDIR)/mca_mtl_pm.so \
	      $(if $(BTL_SO),$(OMPI_PLUGINDIR)/mca_btl_pm.so) \
	      $(if $(SCHIZO_SO),$(OMPI_PLUGINDIR)/mca_schizo_score.so) \
	      $(if $(PMDL_SO),$(PMIX_PLUGINDIR)/$(notdir $(PMDL_SO))) $(addprefix $(OMPI_HELPDIR)/,$(notdir $(MPI_HELP))) \
	      $(SHAREDIR)/collectives.rules $(SHAREDIR)/collectives.tune) \
	      $(addprefix $(BINDIR)/,$(notdir $(PY_PROGRAMS))) $(foreach f,$(PY_FILES),$(call share_of,$(f)))

# The last line of install.
SAID  = installed$(if $(DESTDIR), below $(DESTDIR)): programs in $(BINDIR),
SAID += $(if $(ETHD)$(SCHED_SBIN),daemons in $(SBINDIR)$(comma))
SAID += library in $(LIBDIR), headers in $(INCLUDEDIR), manual in $(MANDIR)$(if $(HAS_MTL),$(comma))
SAID += $(if $(HAS_MTL),Open MPI component in $(OMPI_PLUGINDIR)$(if $(IN_OMPI),, (mtl_pm(7): how Open MPI finds it)))

put  = install -D -m 644 $(1) '$(DESTDIR)$(2)'
run1 = install -D -m 755 $(1) '$(DESTDIR)$(2)'

# Products that are installed as they were built, or linked again from the same objects.
PRODUCTS := $(if $(LIBPM_SRC),$(LIBPM_SO) $(LIBPM_LINK) $(LIBPM_A)) $(TOOLS:%=$(BUILD)/bin/%) $(ETHD) \
	    $(if $(ETHD),$(BPF_ETH)) $(SCHED_PROGS:%=$(BUILD)/bin/%) $(MPI_COMPONENTS)

.PHONY: products install uninstall

products: $(PRODUCTS) ## what install installs, without tests and benchmarks

install: $(PRODUCTS) ## programs, library, headers, manual, Open MPI component (PREFIX= DESTDIR=)
	$(Q)printf '%s\n' $(foreach f,$(INSTALLED),'$(f)') | mk/installed record '$(DESTDIR)' '$(RECORD)'
	$(Q)set -e; \
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBDIR)'; \
	$(if $(LIBPM_SRC),$(call put,$(LIBPM_SO),$(SHARED_LIB)); \
	ln -sfn $(notdir $(SHARED_LIB)) '$(DESTDIR)$(LIBDIR)/libpm.so.$(SOVERSION)'; \
	ln -sfn libpm.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/libpm.so'; \
	$(call put,$(LIBPM_A),$(LIBDIR)/libpm.a);) \
	$(foreach h,$(PUBLIC_H),$(call put,$(h),$(INCLUDEDIR)/$(notdir $(h)));) \
	$(foreach m,$(MAN_PAGES),$(call put,$(m),$(MANDIR)/man$(lastword $(subst ., ,$(m)))/$(notdir $(m)));)
	$(Q)$(if $(wildcard pmcore/libpm.pc.in),install -d '$(DESTDIR)$(LIBDIR)/pkgconfig' && \
		$(PC_EDIT) pmcore/libpm.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/libpm.pc')
	$(Q)set -e; $(foreach t,$(TOOLS),$(call link_tool,$(t),$(RUNPATH),'$(DESTDIR)$(BINDIR)/$(t)');)
	$(Q)set -e; $(foreach f,$(PY_FILES),install -D -m \
		$$(test -x $(f) && echo 755 || echo 644) $(f) '$(DESTDIR)$(call share_of,$(f))';) \
	$(foreach p,$(PY_PROGRAMS),ln -sfn '$(call share_of,$(p))' \
		'$(DESTDIR)$(BINDIR)/$(notdir $(p))';)
	$(Q)$(if $(DESTDIR),,/usr/bin/python3 -m compileall -q '$(SHAREDIR)')
	$(Q)$(if $(ETHD),set -e; install -d '$(DESTDIR)$(SBINDIR)' '$(DESTDIR)$(UNITDIR)'; \
		$(foreach o,$(BPF_ETH),$(call put,$(o),$(BPFDIR)/$(notdir $(o)));) \
		$(call place_bpf,$(BPFDIR),$(BUILD)/obj/bpf_installed.o); \
		$(call link_ethd,$(BUILD)/obj/bpf_installed.o,'$(DESTDIR)$(SBINDIR)/pm-ethernetd'); \
		$(foreach u,$(UNITS),sed -e 's|@SBINDIR@|$(SBINDIR)|g' $(u) \
			>'$(DESTDIR)$(UNITDIR)/$(basename $(notdir $(u)))';))
	$(Q)$(if $(SCHED_PROGS),set -e; install -d '$(DESTDIR)$(SBINDIR)' '$(DESTDIR)$(UNITDIR)'; \
		$(foreach p,$(SCHED_SBIN),$(call run1,$(BUILD)/bin/$(p),$(SBINDIR)/$(p));) \
		$(if $(filter scrun,$(SCHED_PROGS)),$(call run1,$(BUILD)/bin/scrun,$(BINDIR)/scrun);) \
		$(foreach u,$(SCHED_UNITS),sed -e 's|@SBINDIR@|$(SBINDIR)|g' $(u) \
			>'$(DESTDIR)$(UNITDIR)/$(basename $(notdir $(u)))';))
	$(Q)$(if $(HAS_MTL),set -e; install -d '$(DESTDIR)$(OMPI_PLUGINDIR)' '$(DESTDIR)$(OMPI_HELPDIR)'; \
		$(call link_mtl,$(RUNPATH),'$(DESTDIR)$(OMPI_PLUGINDIR)/mca_mtl_pm.so'); \
		$(if $(BTL_SO),ln -sfn mca_mtl_pm.so '$(DESTDIR)$(OMPI_PLUGINDIR)/mca_btl_pm.so';) \
		$(if $(SCHIZO_SO),$(call link_schizo,'$(DESTDIR)$(OMPI_PLUGINDIR)/mca_schizo_score.so');) \
		$(if $(PMDL_SO),$(call put,$(PMDL_SO),$(PMIX_PLUGINDIR)/$(notdir $(PMDL_SO)));) \
		chmod 644 $(foreach c,mca_mtl_pm.so $(notdir $(BTL_SO) $(SCHIZO_SO)),'$(DESTDIR)$(OMPI_PLUGINDIR)/$(c)'); \
		$(foreach h,$(MPI_HELP),$(call put,$(h),$(OMPI_HELPDIR)/$(notdir $(h)));) \
		$(call put,$(COLL_RULES),$(SHAREDIR)/collectives.rules); \
		$(call TUNE_EDIT,$(SHAREDIR)) >'$(DESTDIR)$(SHAREDIR)/collectives.tune')
	$(Q)test -n '$(DESTDIR)' || test "$$(id -u)" != 0 || ldconfig
	@echo '$(strip $(SAID))'

uninstall: ## removes what install put there (same PREFIX, SHAREDIR and DESTDIR)
	$(Q)mk/installed remove '$(DESTDIR)' '$(RECORD)'
	$(Q)test -n '$(DESTDIR)' || test "$$(id -u)" != 0 || ldconfig
