/* SPDX-License-Identifier: BSD-3-Clause */
/* local - the program's memory, registered. */
#ifndef PM_VERBS_HW_LOCAL_H
#define PM_VERBS_HW_LOCAL_H

#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/registration.h"

/*
 * Bytes that each of @n_rails rails may have registered. They come from the @asked ones, or with 0
 * from what suits the lock limit (UINT64_MAX: none), the machine's memory and the number of the
 * job's processes here (0: unknown).
 */
uint64_t pmv_local_share(uint64_t asked, uint64_t lock_limit, uint64_t memory, uint32_t processes,
			 uint32_t n_rails);
/* When the rails are open; they close it. */
int pmv_local_open(struct pmv_link *link);
/*
 * A registration that covers the bytes from @addr on, all @len or as many as can be had at once;
 * pinned_put() gives it back. -ENOBUFS, or -ENOMEM while others have some: not now.
 */
int pmv_local_get(struct pmv_link *link, struct pmv_rail *rail, uint8_t *addr, uint64_t len,
		  bool is_source, struct regcache_entry **ret_entry);
/* Lets go of everything until the next operation. */
void pmv_local_rest(struct pmv_link *link);
/* Lets go of all that is not in use; whether there was any. */
bool pmv_local_flush(struct pmv_link *link);
/* verbs_register, for which what is only kept makes room. */
int pmv_register(struct pmv_link *link, const struct pmv_rail *rail, void *addr, uint64_t len,
		 int access, struct pmv_registration *ret);
void pmv_local_dump(const struct pmv_link *link, struct text *text);

#endif
