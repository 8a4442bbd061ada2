/* SPDX-License-Identifier: BSD-3-Clause */
/* inodes - a set of inode numbers: filled, sorted once, then asked. */
#ifndef SCHEDULER_SCNODED_HOLDINGS_INODES_H
#define SCHEDULER_SCNODED_HOLDINGS_INODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inodes { /* zeroed is empty */
	uint64_t *all;
	size_t n, room;
};

bool inodes_add(struct inodes *set, uint64_t inode); /* false: out of memory */
void inodes_sort(struct inodes *set);                /* a number that was added twice stays once */
bool inodes_has(const struct inodes *set, uint64_t inode);
void inodes_free(struct inodes *set);

#endif
