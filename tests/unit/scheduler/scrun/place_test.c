// SPDX-License-Identifier: BSD-3-Clause
/* place: which host a rank is on, and what is no place. */
#include "scheduler/scrun/place.h"

#include "scheduler/proto/job.h"
#include "tests/harness/tap.h"

static struct place *read_text(const char *text, uint32_t ranks)
{
	json_t *head = json_loads(text, 0, NULL);
	struct place *place = place_read(head, ranks);

	json_decref(head);
	return place;
}

TAP_TEST(place_host_of__first_and_last_of_each)
{
	struct place *place = read_text("{\"id\":7,\"leader\":\"1.2.3.4:7711\",\"uid\":1000,"
					"\"hosts\":[\"a\",\"b\",\"c\"],\"ranks\":[2,1,3]}",
					6);
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
					"\"hosts\":[\"a\"],\"ranks\":[1]}",
					1);

	must(place);
	is_int(place->uid, 4294967294);
	place_free(place);
}

/* Only the place of a job that starts again tells how many it has. */
TAP_TEST(place_read__any_number_of_ranks)
{
	struct place *place = read_text("{\"id\":7,\"leader\":\"1.2.3.4:7711\",\"uid\":1000,"
					"\"hosts\":[\"a\",\"b\"],\"ranks\":[2,999998]}",
					0);

	must(place);
	is_str(place_name_of(place, 1), "a");
	is_str(place_name_of(place, 2), "b");
	is_str(place_name_of(place, 999999), "b");
	ok(!place_name_of(place, 1000000));
	ok(place_has(place, 0, 999999) && !place_has(place, 0, 1000000));
	place_free(place);
}

#define REST "\"id\":7,\"uid\":0,\"leader\":\"l:1\""

TAP_TEST(place_read__nonsense)
{
	static const char *const texts[] = {
		"{}",
		"{" REST ",\"hosts\":[],\"ranks\":[]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[1,1]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[-1]}",
		"{" REST ",\"hosts\":[3],\"ranks\":[2]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[3]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[1]}",
		"{" REST ",\"hosts\":[\"a\",\"b\"],\"ranks\":[4294967295,3]}",
		"{" REST ",\"hosts\":[\"../a\"],\"ranks\":[2]}",
		"{" REST ",\"hosts\":[\"a\\u001b[2J\"],\"ranks\":[2]}",
		"{\"id\":0,\"uid\":0,\"leader\":\"l:1\",\"hosts\":[\"a\"],\"ranks\":[2]}",
		"{\"id\":7,\"uid\":4294967295,\"leader\":\"l:1\",\"hosts\":[\"a\"],\"ranks\":[2]}",
		"{\"id\":7,\"uid\":0,\"hosts\":[\"a\"],\"ranks\":[2]}"};
	struct place *place = read_text("{" REST ",\"hosts\":[\"a\"],\"ranks\":[2]}", 2);

	ok(place);
	place_free(place);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		okf(!read_text(texts[i], 2), "%s", texts[i]);
}

TAP_TEST(place_read__nonsense_of_any_number_of_ranks)
{
	static const char *const texts[] = {
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[-1]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[\"2\"]}",
		"{" REST ",\"hosts\":[\"a\"],\"ranks\":[1000001]}",
		"{" REST ",\"hosts\":[\"a\",\"b\"],\"ranks\":[1000000,1]}",
		"{" REST ",\"hosts\":[\"a\",\"b\"],\"ranks\":[4294967295,3]}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		okf(!read_text(texts[i], 0), "%s", texts[i]);
}

TAP_TEST(place_has__ranks_of_the_job_and_of_spawned_worlds)
{
	struct place *place = read_text("{" REST ",\"hosts\":[\"a\"],\"ranks\":[2]}", 2);

	must(place);
	ok(place_has(place, 0, 1) && !place_has(place, 0, 2) && !place_has(place, 0, UINT64_MAX));
	ok(place_has(place, 1, 2) && place_has(place, JOB_WORLDS_MAX - 1, JOB_RANKS_MAX - 1));
	ok(!place_has(place, 1, JOB_RANKS_MAX) && !place_has(place, JOB_WORLDS_MAX, 0));
	place_free(place);
}
