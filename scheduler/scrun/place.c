/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scrun/place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/job.h"

static bool take_host(struct place *place, size_t h, const json_t *name, const json_t *ranks)
{
	json_int_t n = json_integer_value(ranks);

	if (!json_is_string(name) || !json_is_integer(ranks) || n < 0 ||
	    n > (json_int_t)(JOB_RANKS_MAX - place->first[h]))
		return false;
	place->first[h + 1] = place->first[h] + (uint32_t)n;
	place->hosts[h] = strdup(json_string_value(name));
	return place->hosts[h] != NULL;
}

struct place *place_read(const json_t *head)
{
	const json_t *hosts = json_object_get(head, "hosts"),
		     *ranks = json_object_get(head, "ranks");
	const char *leader = json_string_value(json_object_get(head, "leader"));
	struct place *place = calloc(1, sizeof(*place));
	size_t n = json_array_size(hosts);

	if (!place)
		return NULL;
	place->id = (uint64_t)json_integer_value(json_object_get(head, "id"));
	place->uid = (uid_t)json_integer_value(json_object_get(head, "uid"));
	place->leader = strdup(leader ? leader : "");
	place->hosts = calloc(n + 1, sizeof(*place->hosts));
	place->first = calloc(n + 1, sizeof(*place->first));
	if (!n || json_array_size(ranks) != n || !place->leader || !place->hosts || !place->first)
		goto wrong;
	place->n_hosts = n;
	for (size_t h = 0; h < n; h++)
		if (!take_host(place, h, json_array_get(hosts, h), json_array_get(ranks, h)))
			goto wrong;
	return place;
wrong:
	place_free(place);
	return NULL;
}

void place_free(struct place *place)
{
	if (!place)
		return;
	for (size_t h = 0; h < place->n_hosts; h++)
		free(place->hosts[h]);
	free(place->hosts);
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

const char *place_name_of(const struct place *place, uint64_t rank)
{
	return place->hosts[place_host_of(place, rank)];
}
