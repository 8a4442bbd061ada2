/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scrun/statistics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "scheduler/scrun/say.h"

static void say_counted(const json_t *counted)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)counted, key, value)
	{
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
	if (s->counted)
		say_counted(s->counted);
}
