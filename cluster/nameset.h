/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nameset - names in the order in which they were added, each once. Adding, removing and asking
 * take the same time however many there are, also for names that somebody chose to collide. The
 * texts are the caller's and outlive the set.
 */
#ifndef CLUSTER_NAMESET_H
#define CLUSTER_NAMESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nameset {
	const char **names; /* @used in the order of adding, NULL = removed */
	uint32_t *table;    /* 1 + place in names, 0 = free; by hash */
	size_t used, room;  /* places in names */
	size_t n;           /* names that are there */
	uint64_t key[2];    /* of the hash */
};

/* Empty. -errno: no random bytes for the key. */
int nameset_init(struct nameset *set);
void nameset_fini(struct nameset *set);
/* -ENOMEM. A name that is there keeps its place. */
int nameset_add(struct nameset *set, const char *name);
void nameset_remove(struct nameset *set, const char *name);
bool nameset_has(const struct nameset *set, const char *name);
/* How many were added before it, as long as none was removed; -1: it is not there. */
long nameset_place(const struct nameset *set, const char *name);
/* The name after the place *@at, which begins at 0 and is moved on; NULL: no more. */
const char *nameset_next(const struct nameset *set, size_t *at);

#endif
