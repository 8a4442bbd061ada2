/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registration - memory that a rail may read and write, from one call to the other. local.c keeps
 * registrations for the next operation.
 */
#ifndef PM_VERBS_HW_REGISTRATION_H
#define PM_VERBS_HW_REGISTRATION_H

#include "pm-verbs/hw/library.h"

struct pmv_registration {
	struct ibv_mr *mr; /* NULL: none */
	uint32_t lkey, rkey;
};

/* @access: enum ibv_access_flags. 0 or -errno; -ENOMEM: less may succeed, or later. */
int verbs_register(const struct verbs *v, struct ibv_pd *pd, void *addr, uint64_t len, int access,
		   struct pmv_registration *ret);
/*
 * On return nobody reads or writes it through this registration any more; -errno: they may, and it
 * stays as it is.
 */
int verbs_unregister(const struct verbs *v, struct pmv_registration *registration);

#endif
