# SPDX-License-Identifier: BSD-3-Clause
scstepd_NEEDS := jansson ev.h munge.h libsodium pmix hwloc
# libev has functions of libevent's names: PMIx must find libevent's own, so that comes first in the order of loading.
scstepd_EVENT := $(shell readelf -d "$$(pkg-config --variable=libdir pmix 2>/dev/null)/libpmix.so" 2>/dev/null | \
		   sed -n 's/.*NEEDED.*\[\(libevent.*\)\]/-l:\1/p')
scstepd_LIBS  := $(PMIX_LIBS) $(shell pkg-config --libs hwloc 2>/dev/null) -Wl,--push-state,--no-as-needed \
		 $(scstepd_EVENT) -Wl,--pop-state
