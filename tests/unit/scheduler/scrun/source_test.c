// SPDX-License-Identifier: BSD-3-Clause
/* source: the ranks that have printed something, and how many there may be. */
#include "scheduler/scrun/source.h"

#include "tests/harness/tap.h"

TAP_TEST(sources_add__found_by_world_and_rank)
{
	struct sources sources = {0};
	struct source *one = sources_add(&sources, 0, 7), *other = sources_add(&sources, 3, 7);

	must(one && other);
	ok(sources_find(&sources, 0, 7) == one && sources_find(&sources, 3, 7) == other);
	ok(!sources_find(&sources, 7, 0));
	ok(sources.first == one && one->next == other);
	sources_fini(&sources);
	ok(!sources.first && !sources.n);
}

TAP_TEST(sources_add__no_more_than_there_may_be)
{
	struct sources sources = {.n = SOURCES_MAX - 1};

	ok(sources_add(&sources, 1, 0) != NULL);
	ok(!sources_add(&sources, 1, 1));
	ok(sources_find(&sources, 1, 0) && !sources_find(&sources, 1, 1));
	sources_fini(&sources);
}
