// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/inodes.h"

#include <stdlib.h>

bool inodes_add(struct inodes *set, uint64_t inode)
{
	if (set->n == set->room) {
		size_t room = set->room ? 2 * set->room : 64;
		uint64_t *all = realloc(set->all, room * sizeof(*all));

		if (!all)
			return false;
		set->all = all;
		set->room = room;
	}
	set->all[set->n++] = inode;
	return true;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

void inodes_sort(struct inodes *set)
{
	size_t n = 0;

	if (!set->n)
		return;
	qsort(set->all, set->n, sizeof(*set->all), compare);
	for (size_t i = 1; i < set->n; i++)
		if (set->all[i] != set->all[n])
			set->all[++n] = set->all[i];
	set->n = n + 1;
}

bool inodes_has(const struct inodes *set, uint64_t inode)
{
	return set->n && bsearch(&inode, set->all, set->n, sizeof(inode), compare);
}

void inodes_free(struct inodes *set)
{
	free(set->all);
	*set = (struct inodes){0};
}
