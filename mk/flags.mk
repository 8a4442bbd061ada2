# SPDX-License-Identifier: BSD-3-Clause
# Compiler and flags, the same for every object. SAN=address,undefined (or thread) adds a
# sanitizer; it is set by the asan, tsan and ubsan targets together with a BUILD of their own.

ifeq ($(origin CC),default)
CC := gcc
endif
AR      ?= ar
SAN     ?=
OPT     ?= -O2 -g
# Warnings end the build. WERROR=0 only prints them: for packages, which meet compilers that came later.
WERROR  ?= 1
# gcc's two guesses that are off. Outputs are set on success only, and gcc takes a caller that looks
# at the return code for one that may read them unset. And a message cut to its buffer is intended.
WARN    := -Wall -Wextra $(if $(filter-out 0,$(WERROR)),-Werror) -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	   -Wwrite-strings -Wundef -Wvla -Wno-unused-parameter
ifneq ($(findstring clang,$(CC)),)
WARN    += -Wno-unknown-warning-option
else
WARN    += -Wno-maybe-uninitialized -Wno-format-truncation
endif
CPPFLAGS += -D_GNU_SOURCE -DPM_VERSION='"$(VERSION)"' -Ipmcore/include -I.
PM_CFLAGS := -std=gnu11 $(OPT) -fPIC -fno-semantic-interposition -fno-omit-frame-pointer \
	     -fno-common -pthread $(WARN)
PM_LDFLAGS := -pthread -Wl,--as-needed

# libpm.so is optimized as a whole: a message passes through a dozen files, and the calls between them
# are a sixth of its way. Its objects are compiled both ways, so that every other program (the tests
# above all) links the plain half, which is quick.
LTO      :=
LTO_LINK :=
ifeq ($(SAN)$(findstring clang,$(CC)),)
LTO        := -flto -ffat-lto-objects
LTO_LINK   := -flto=auto
PM_LDFLAGS += -fno-lto
endif

# Sanitizers change inlining enough for false "maybe" warnings; the plain build keeps them fatal.
SAN_WARN := -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-tsan \
	    -Wno-free-nonheap-object -Wno-unknown-warning-option
san_flags = -fsanitize=$(1) -fno-sanitize-recover=all $(SAN_WARN)

ifneq ($(SAN),)
PM_CFLAGS  += $(call san_flags,$(SAN))
PM_LDFLAGS += -fsanitize=$(SAN)
else
PM_LDFLAGS += -Wl,-z,defs
endif

ifeq ($(V),1)
Q   :=
say := @:
else
Q   := @
say  = @printf '  %-7s %s\n' $(1) $(2)
endif

# Written only when the text changes, so that a new compiler, flag or file list rebuilds what it
# touches. Products are named as they lie in BUILD, so that a copy of it is as new as what it was copied from.
# $(call stamp,FILE,TEXT)
stamp_text = $(subst ','\'',$(patsubst $(BUILD)/%,%,$(1)))
stamp = $(shell mkdir -p $(dir $(1)); printf '%s\n' '$(call stamp_text,$(2))' | cmp -s - $(1) || \
	printf '%s\n' '$(call stamp_text,$(2))' >$(1))
