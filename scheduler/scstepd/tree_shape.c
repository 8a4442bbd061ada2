// SPDX-License-Identifier: BSD-3-Clause
/* tree_shape - the pure part of tree.h: which host stands where. */
#include "scheduler/scstepd/tree.h"

size_t tree_toward(size_t here, size_t to)
{
	size_t at = to;

	while (at > here) {
		size_t above = tree_parent(at);

		if (above == here)
			return at;
		at = above;
	}
	return tree_parent(here);
}

size_t tree_size(size_t host, size_t n)
{
	size_t first = host, last = host, sum = 0;

	while (first < n) {
		sum += (last < n ? last : n - 1) - first + 1;
		first = tree_first_child(first);
		last = tree_first_child(last) + TREE_FANOUT - 1;
	}
	return sum;
}
