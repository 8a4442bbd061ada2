// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/scrun/say.h"

#define MIB 1048576.

void statistics_rank_ended(struct statistics *s, const struct place *place, const json_t *head)
{
	json_int_t bytes = json_integer_value(json_object_get(head, "max_rss"));
	json_t *peak = json_object_get(head, "group_peak");
	const char *host = json_string_value(json_object_get(head, "host"));

	if (bytes <= 0 || !host)
		return;
	s->memory.ranks++;
	s->memory.sum += (uint64_t)bytes;
	if ((uint64_t)bytes > s->memory.most) {
		s->memory.most = (uint64_t)bytes;
		s->memory.world = (uint64_t)json_integer_value(json_object_get(head, "world"));
		s->memory.rank = (uint64_t)json_integer_value(json_object_get(head, "rank"));
		snprintf(s->memory.host, sizeof(s->memory.host), "%s", host);
	}
	if (json_is_integer(peak) && !s->groups)
		s->groups = json_object();
	/* A peak only grows: the last rank of a host tells the final one. */
	if (json_is_integer(peak) &&
	    (json_object_get(s->groups, host) || place_has_host(place, host)))
		json_object_set(s->groups, host, peak);
}

void statistics_fini(struct statistics *s)
{
	json_decref(s->counted);
	json_decref(s->groups);
	s->counted = s->groups = NULL;
}

static void say_memory(const struct statistics *s)
{
	const char *host;
	json_t *peak;
	char world[40] = "";

	if (!s->memory.ranks)
		return;
	if (s->memory.world)
		snprintf(world, sizeof(world), " of spawned world %" PRIu64, s->memory.world);
	say_plain("  peak memory of a rank: %.1f MiB (rank %" PRIu64 "%s on %s)",
		  (double)s->memory.most / MIB, s->memory.rank, world, s->memory.host);
	say_plain("  peak memory, sum of %" PRIu64 " rank%s: %.1f MiB", s->memory.ranks,
		  s->memory.ranks == 1 ? "" : "s", (double)s->memory.sum / MIB);
	json_object_foreach(s->groups, host, peak)
		say_plain("  peak memory of all on %s: %.1f MiB", host,
			  (double)json_integer_value(peak) / MIB);
}

static void say_counted(const json_t *counted)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)counted, key, value) {
		char *text =
			json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));

		if (text)
			say_plain("  %s: %s", key, text);
		free(text);
	}
}

void statistics_say(const struct statistics *s, const struct place *place)
{
	double began = s->attached_s > 0 ? s->attached_s : s->placed_s;

	if (!place) {
		say("statistics: the job did not run");
		return;
	}
	say("statistics of job %" PRIu64 ":", place->id);
	say_plain("  ranks: %" PRIu32 " on %zu host%s", place->first[place->n_hosts],
		  place->n_hosts, place->n_hosts == 1 ? "" : "s");
	say_plain("  queued: %.3f s", s->placed_s - s->submitted_s);
	say_plain("  ran: %.3f s", s->ended_s > began ? s->ended_s - began : 0.);
	say_memory(s);
	if (s->counted)
		say_counted(s->counted);
}
