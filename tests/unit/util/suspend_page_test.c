// SPDX-License-Identifier: BSD-3-Clause
/*
 * suspend_page: a file of any other size or content is refused, and orders never repeat.
 */
#include "pmcore/util/suspend_page.h"
#include "tests/harness/tap.h"

#include <stdlib.h>
#include <string.h>

static struct suspend_page *make(uint32_t n_slots, uint32_t n_nodes)
{
	struct suspend_page *page = calloc(1, suspend_page_size(n_slots, n_nodes));

	page->magic = SUSPEND_PAGE_MAGIC;
	page->n_slots = n_slots;
	page->n_nodes = n_nodes;
	return page;
}

TAP_TEST(check__takes_a_page_of_its_size_only)
{
	struct suspend_page *page = make(3, 5);
	size_t size = suspend_page_size(3, 5);

	ok(suspend_page_check(page, size));
	for (size_t other = 0; other < size + 2; other++)
		if (other != size)
			ok(!suspend_page_check(page, other));
	free(page);
}

TAP_TEST(check__refuses_numbers_that_no_starter_writes)
{
	struct suspend_page *page = make(2, 2);
	size_t size = suspend_page_size(2, 2);

	page->n_slots = 0;
	ok(!suspend_page_check(page, suspend_page_size(0, 2)));
	page->n_slots = SUSPEND_PAGE_RANKS_MAX + 1;
	ok(!suspend_page_check(page, suspend_page_size(SUSPEND_PAGE_RANKS_MAX + 1, 2)));
	page->n_slots = 2;
	page->n_nodes = UINT32_MAX;
	ok(!suspend_page_check(page, suspend_page_size(2, UINT32_MAX)));
	page->n_nodes = 2;
	page->magic++;
	ok(!suspend_page_check(page, size));
	free(page);
}

TAP_TEST(slots_and_addresses__lie_side_by_side_inside_of_it)
{
	struct suspend_page *page = make(3, 2);
	char *end = (char *)page + suspend_page_size(3, 2);

	ok(suspend_page_slot(page, 0) == (void *)(page + 1));
	ok((void *)(suspend_page_slot(page, 2) + 1) == suspend_page_address(page, 0));
	ok((char *)(suspend_page_address(page, 1) + 1) == end);
	free(page);
}

TAP_TEST(orders__differ_from_the_one_before_also_at_the_end_of_the_numbers)
{
	static const uint32_t befores[] = {0, 7, 8, UINT32_MAX - 8, UINT32_MAX - 1, UINT32_MAX};

	for (size_t i = 0; i < sizeof(befores) / sizeof(*befores); i++) {
		for (int step = 0; step < SUSPEND_STEPS; step++) {
			uint32_t order = suspend_order_next(befores[i], step);

			ok(order != befores[i]);
			is_int(suspend_order_step(order), step);
		}
	}
}
