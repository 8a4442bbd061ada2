// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/look.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pmcore/util/clock.h"

#define MORE_MAX 64 /* bytes of the last line */

static void look(const struct survey_order *order, const struct restorable_terms *terms,
		 struct refusals *ret)
{
	struct survey_order limited = *order;
	struct holdings h = {.n_processes = 0};
	char text[REFUSAL_TEXT_MAX];

	limited.limit_ms = LOOK_LIMIT_MS;
	if (survey_job(&limited, &h)) {
		snprintf(text, sizeof(text),
			 "job %llu has no process %d on %s any more; only a job that runs can be "
			 "written down",
			 (unsigned long long)terms->job, order->root, terms->host);
		refusals_add(ret, text);
	} else {
		restorable_judge(&h, terms, ret);
	}
	holdings_free(&h);
}

static bool is_refused(const struct refusals *list)
{
	return list->n || list->n_more;
}

static void write_lines(const struct refusals *list, const struct restorable_terms *terms,
			char *ret)
{
	size_t n = 0, i, more;

	for (i = 0; i < list->n; i++) {
		if (n + 1 + strlen(list->lines[i]) > LOOK_TEXT_MAX - MORE_MAX)
			break;
		n += (size_t)sprintf(ret + n, "%s%s", i ? "\n" : "", list->lines[i]);
	}
	more = list->n - i + list->n_more;
	if (more && i)
		snprintf(ret + n, LOOK_TEXT_MAX - n, "\nand %zu more", more);
	else if (more)
		snprintf(ret, LOOK_TEXT_MAX,
			 "job %llu on %s holds what can't be restored, and scnoded has no memory "
			 "left to say what; free some there, and try again",
			 (unsigned long long)terms->job, terms->host);
}

void look_twice(const struct survey_order *order, const struct restorable_terms *terms, char *ret)
{
	static const struct timespec pause = {.tv_nsec = LOOK_PAUSE_MS * 1000000};
	uint64_t began_ns = clock_monotonic_ns();
	struct refusals refusals = {.n = 0};

	*ret = 0;
	look(order, terms, &refusals);
	if (is_refused(&refusals) &&
	    clock_monotonic_ns() - began_ns <= LOOK_AGAIN_MS * 1000000ull) {
		refusals_free(&refusals);
		nanosleep(&pause, NULL);
		look(order, terms, &refusals);
	}
	write_lines(&refusals, terms, ret);
	refusals_free(&refusals);
}
