/* SPDX-License-Identifier: BSD-3-Clause */
/* place: which host a rank is on, and what is no place. */
#include "scheduler/scrun/place.h"
#include "tests/harness/tap.h"

static struct place *read_text(const char *text)
{
	json_t *head = json_loads(text, 0, NULL);
	struct place *place = place_read(head);

	json_decref(head);
	return place;
}

TAP_TEST(place_host_of__first_and_last_of_each)
{
	struct place *place = read_text("{\"id\":7,\"leader\":\"1.2.3.4:7711\",\"uid\":1000,"
					"\"hosts\":[\"a\",\"b\",\"c\"],\"ranks\":[2,1,3]}");
	static const char *const names[] = {"a", "a", "b", "c", "c", "c"};

	must(place);
	is_int(place->id, 7);
	is_int(place->uid, 1000);
	is_str(place->leader, "1.2.3.4:7711");
	for (uint64_t rank = 0; rank < 6; rank++)
		is_str(place_name_of(place, rank), names[rank]);
	ok(!place_name_of(place, 6));
	ok(!place_name_of(place, UINT64_MAX));
	place_free(place);
}

TAP_TEST(place_read__a_large_uid)
{
	struct place *place = read_text("{\"id\":7,\"leader\":\"1.2.3.4:7711\",\"uid\":4294967294,"
					"\"hosts\":[\"a\"],\"ranks\":[1]}");

	must(place);
	is_int(place->uid, 4294967294);
	place_free(place);
}

TAP_TEST(place_read__nonsense)
{
	static const char *const texts[] = {"{}",
					    "{\"hosts\":[],\"ranks\":[]}",
					    "{\"hosts\":[\"a\"],\"ranks\":[1,2]}",
					    "{\"hosts\":[\"a\"],\"ranks\":[-1]}",
					    "{\"hosts\":[3],\"ranks\":[1]}",
					    "{\"hosts\":[\"a\",\"b\"],\"ranks\":[1000000,1]}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		okf(!read_text(texts[i]), "%s", texts[i]);
}
