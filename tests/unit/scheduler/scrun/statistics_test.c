// SPDX-License-Identifier: BSD-3-Clause
/* statistics: what is kept of the ends of ranks. */
#include "scheduler/scrun/statistics.h"

#include "tests/harness/tap.h"

static void ends(struct statistics *s, const struct place *place, const char *host, int peak)
{
	json_t *head = json_pack("{s:s, s:i, s:i, s:i, s:i}", "host", host, "world", 0, "rank", 1,
				 "max_rss", 100, "group_peak", peak);

	statistics_rank_ended(s, place, head);
	json_decref(head);
}

TAP_TEST(statistics_rank_ended__only_hosts_of_the_place)
{
	json_t *head = json_pack("{s:i, s:i, s:s, s:[s, s], s:[i, i]}", "id", 1, "uid", 0, "leader",
				 "l:1", "hosts", "a", "b", "ranks", 1, 1);
	struct place *place = place_read(head, 2);
	struct statistics s = {0};

	must(place);
	ends(&s, place, "c", 7);
	ends(&s, place, "a", 5);
	ends(&s, place, "b", 6);
	ends(&s, place, "", 7);
	ends(&s, place, "a", 8);
	is_int(s.memory.ranks, 5);
	is_int(json_object_size(s.groups), 2);
	is_int(json_integer_value(json_object_get(s.groups, "a")), 8);
	statistics_fini(&s);
	place_free(place);
	json_decref(head);
}
