/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared - bytes that never change and whose holders are counted: what is sent to many at once lies
 * in memory once, however long some of them do not read. One thread holds all references.
 */
#ifndef SCHEDULER_PROTO_SHARED_H
#define SCHEDULER_PROTO_SHARED_H

#include <stddef.h>

struct shared {
	size_t n_holders;
	size_t size;
	char *bytes;
};

/*
 * Takes @bytes, which malloc() gave, in any case. NULL: no memory, or no bytes. The caller holds
 * it.
 */
struct shared *shared_new(char *bytes, size_t size);
struct shared *shared_hold(struct shared *shared);
/* The last who lets go frees it. NULL is fine. */
void shared_release(struct shared *shared);

#endif
