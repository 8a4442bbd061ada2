/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pinned - the user memory that a context has registered: the cache and the notice of unmapped
 * memory as one. A registration that it lends is always for the pages that are mapped there now.
 * Where the notice can't be had nothing is kept, and each operation registers for itself. One
 * thread at a time.
 */
#ifndef PM_VERBS_HW_PINNED_H
#define PM_VERBS_HW_PINNED_H

#include <stddef.h>
#include <stdint.h>

#include "pm-verbs/hw/regcache.h"

struct pinned;

/*
 * @ops registers for the device (REGCACHE_TRANSIENT: what must not be kept). When nothing can be
 * kept @ret_why says so in one sentence, else it is empty. 0, -EINVAL or -ENOMEM as
 * regcache_create.
 */
int pinned_open(const struct regcache_ops *ops, void *arg, const struct regcache_limits *limits,
		char *ret_why, size_t why_len, struct pinned **ret_pinned);
/* As regcache_destroy. */
uint32_t pinned_close(struct pinned *pinned);

/*
 * As regcache_get. Ask for write access wherever it can be had, also to send: only then does the
 * kernel give pages that stay when the program writes to them for the first time.
 */
int pinned_get(struct pinned *pinned, void *addr, size_t len, int access,
	       struct regcache_entry **ret_entry);
void pinned_put(struct pinned *pinned, struct regcache_entry *entry);
/*
 * Lets go of memory that the program has unmapped; without any it costs a load. Call it now and
 * then.
 */
void pinned_turn(struct pinned *pinned);
/* Lets go of all that is not in use. */
void pinned_flush(struct pinned *pinned);
/*
 * The same, and until the next pinned_get it has no thread, userfaultfd or watched memory of this
 * process: nothing that a checkpoint could not save, or that would keep a thread from being frozen.
 */
void pinned_rest(struct pinned *pinned);

const struct regcache_count *pinned_count(const struct pinned *pinned);

#endif
