/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi1_space - a PMI-1 key-value space, and the format in which hosts give each other what was put:
 * key, NUL, value, NUL, and so on. Knows neither ranks nor sockets.
 */
#ifndef SCHEDULER_SCSTEPD_PMI1_SPACE_H
#define SCHEDULER_SCSTEPD_PMI1_SPACE_H

#include <stddef.h>
#include <stdint.h>

#define PMI1_KEY_MAX 64 /* bytes with the NUL, as in all limits of PMI-1 */
/* A line of MPICH holds 1,024 bytes, the names of command, space and key included. */
#define PMI1_VALUE_MAX 512

/* Pairs as pmi1_space_merge() takes them. All zero: none. free(bytes). */
struct pmi1_pairs {
	char *bytes;
	size_t n, room;
};

struct pmi1_pair;

struct pmi1_space {
	struct pmi1_pair **buckets;
	size_t n_buckets; /* 0 or a power of 2 */
	size_t n;
};

/* All zero is an empty one. */
void pmi1_space_fini(struct pmi1_space *space);
/* The last value put under a key is the one that counts. 0, -EMSGSIZE or -ENOMEM. */
int pmi1_space_put(struct pmi1_space *space, const char *key, const char *value);
/* NULL: not there. Good until the next put. */
const char *pmi1_space_get(const struct pmi1_space *space, const char *key);
/* 0 or -ENOMEM. */
int pmi1_pairs_add(struct pmi1_pairs *pairs, const char *key, const char *value);
/* Puts what another host has joined; before -EPROTO nothing was put. 0, -EPROTO or -ENOMEM. */
int pmi1_space_merge(struct pmi1_space *space, const char *data, size_t size);

#endif
