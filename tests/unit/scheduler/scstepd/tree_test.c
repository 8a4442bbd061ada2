// SPDX-License-Identifier: BSD-3-Clause
/*
 * tree: the arithmetic of who is below whom.
 */
#include "scheduler/scstepd/tree.h"

#include "tests/harness/tap.h"

TAP_TEST(tree_toward__leads_there)
{
	size_t n = 600;

	for (size_t here = 0; here < n; here += 7)
		for (size_t to = 0; to < n; to++) {
			size_t at = here, steps = 0;

			while (at != to && steps++ < 10)
				at = tree_toward(at, to);
			okf(at == to, "from %zu to %zu", here, to);
		}
}

TAP_TEST(tree_toward__only_to_neighbours)
{
	for (size_t here = 0; here < 300; here++)
		for (size_t to = 0; to < 300; to++) {
			size_t next = to == here ? here : tree_toward(here, to);

			ok(next == here || (here && next == tree_parent(here)) ||
			   (next && tree_parent(next) == here));
		}
}

TAP_TEST(tree_size__sums_up)
{
	static const size_t sizes[] = {1, 2, 16, 17, 18, 272, 273, 274, 512};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];

		is_int(tree_size(0, n), n);
		for (size_t host = 0; host < n; host++) {
			size_t sum = 1, first = tree_first_child(host);

			for (size_t child = first; child < first + TREE_FANOUT && child < n;
			     child++)
				sum += tree_size(child, n);
			is_int(tree_size(host, n), sum);
		}
	}
}
