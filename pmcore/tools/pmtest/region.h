/* SPDX-License-Identifier: BSD-3-Clause */
/* region - memory that a node exports for the one-sided tests, filled or verified as a whole. */
#ifndef PMTEST_REGION_H
#define PMTEST_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/common/session.h"

/* Zeroed is empty. */
struct region {
	char *mem;       /* page-aligned, or NULL */
	size_t len;      /* bytes */
	pmHandle handle; /* valid while mem is there */
};

/* Exports @len bytes of the stream @seed; 0 or -errno after saying why. */
int region_export(struct session *s, struct region *region, size_t len, uint64_t seed);
/* Takes the export back and frees the memory. */
void region_withdraw(struct session *s, struct region *region);
/* Page-aligned memory, all pages touched; NULL after saying why. */
char *region_memory(size_t len);

#endif
