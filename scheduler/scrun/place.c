// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/job.h"

/* Which ranks are on each host; all of them @ranks, or any number (0). */
static bool take_ranks(struct place *place, const json_t *from, uint32_t ranks)
{
	uint32_t most = ranks ? ranks : JOB_RANKS_MAX;

	place->first = calloc(place->n_hosts + 1, sizeof(*place->first));
	if (!place->first || json_array_size(from) != place->n_hosts)
		return false;
	for (size_t h = 0; h < place->n_hosts; h++) {
		const json_t *value = json_array_get(from, h);
		json_int_t n = json_integer_value(value);

		if (!json_is_integer(value) || n < 0 || n > (json_int_t)(most - place->first[h]))
			return false;
		place->first[h + 1] = place->first[h] + (uint32_t)n;
	}
	return !ranks || place->first[place->n_hosts] == ranks;
}

struct place *place_read(const json_t *head, uint32_t ranks)
{
	char why[256];
	struct fields fields = {.from = head, .what = "place", .why = why, .why_size = sizeof(why)};
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->id = (uint64_t)fields_number(&fields, "id", 1, INT64_MAX);
	place->uid = (uid_t)fields_number(&fields, "uid", 0, UINT32_MAX - 1);
	place->leader = fields_text(&fields, "leader", FIELDS_LINE, false);
	place->hosts = fields_texts(&fields, "hosts", FIELDS_NAME, JOB_RANKS_MAX);
	while (place->hosts && place->hosts[place->n_hosts])
		place->n_hosts++;
	if (fields.err || !place->n_hosts ||
	    !take_ranks(place, json_object_get(head, "ranks"), ranks)) {
		place_free(place);
		return NULL;
	}
	return place;
}

void place_free(struct place *place)
{
	if (!place)
		return;
	fields_texts_free(place->hosts);
	free(place->first);
	free(place->leader);
	free(place);
}

size_t place_host_of(const struct place *place, uint64_t rank)
{
	size_t low = 0, high = place->n_hosts;

	/* The last host that begins at or below it. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (place->first[middle] <= rank)
			low = middle;
		else
			high = middle;
	}
	return rank < place->first[place->n_hosts] ? low : place->n_hosts;
}

bool place_has(const struct place *place, uint64_t world, uint64_t rank)
{
	/* How many ranks a spawned world has is known to the leader alone. */
	return world ? world < JOB_WORLDS_MAX && rank < JOB_RANKS_MAX
		     : rank < place->first[place->n_hosts];
}

bool place_has_host(const struct place *place, const char *name)
{
	for (size_t h = 0; h < place->n_hosts; h++)
		if (!strcmp(place->hosts[h], name))
			return true;
	return false;
}

const char *place_name_of(const struct place *place, uint64_t rank)
{
	return place->hosts[place_host_of(place, rank)];
}
