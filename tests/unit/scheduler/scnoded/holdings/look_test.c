// SPDX-License-Identifier: BSD-3-Clause
/*
 * look: how often it looks, and the text that becomes of refusals. Survey and judgement are fakes;
 * the clock stands still until a survey moves it.
 */
#include "scheduler/scnoded/holdings/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

static struct world {
	unsigned int looks;   /* so far */
	unsigned int refused; /* of them */
	unsigned int lines, more;
	size_t line_bytes;
	uint64_t takes_ms; /* each look */
	int err;
	char text[LOOK_TEXT_MAX];
} w;

int survey_job(const struct survey_order *order, struct holdings *ret)
{
	(void)ret;
	w.looks++;
	is_int(order->root, 42);
	is_int(order->limit_ms, LOOK_LIMIT_MS);
	stillclock_ns += w.takes_ms * 1000000;
	return w.err;
}

void restorable_judge(const struct holdings *h, const struct restorable_terms *terms,
		      struct refusals *ret)
{
	char line[REFUSAL_TEXT_MAX];

	(void)h, (void)terms;
	if (w.looks > w.refused)
		return;
	for (unsigned int i = 0; i < w.lines; i++) {
		snprintf(line, sizeof(line), "look %u, line %u", w.looks, i);
		if (w.line_bytes) {
			memset(line, 'x', w.line_bytes);
			line[w.line_bytes] = 0;
		}
		refusals_add(ret, line);
	}
	ret->n_more += w.more;
}

static void look(struct world world)
{
	struct survey_order order = {.root = 42};
	struct restorable_terms terms = {.job = 7, .host = "here"};

	w = world;
	memset(w.text, 'z', sizeof(w.text));
	look_twice(&order, &terms, w.text);
	must(memchr(w.text, 0, sizeof(w.text)) != NULL);
}

TAP_TEST(look_twice__nothing)
{
	look((struct world){.lines = 1});
	is_str(w.text, "");
	is_int(w.looks, 1);
}

TAP_TEST(look_twice__gone_at_the_second_look)
{
	look((struct world){.refused = 1, .lines = 2});
	is_str(w.text, "");
	is_int(w.looks, 2);
}

TAP_TEST(look_twice__there_at_both)
{
	look((struct world){.refused = 2, .lines = 2, .takes_ms = LOOK_AGAIN_MS});
	is_str(w.text, "look 2, line 0\nlook 2, line 1");
	is_int(w.looks, 2);
}

TAP_TEST(look_twice__long_look)
{
	look((struct world){.refused = 2, .lines = 1, .takes_ms = LOOK_AGAIN_MS + 1});
	is_str(w.text, "look 1, line 0");
	is_int(w.looks, 1);
}

TAP_TEST(look_twice__no_such_process)
{
	look((struct world){.err = -ESRCH});
	is_str(w.text, "job 7 has no process 42 on here any more; only a job that runs can be "
		       "written down");
}

static unsigned int count_lines(void)
{
	unsigned int n = 1;

	for (const char *c = w.text; *c; c++)
		n += *c == '\n';
	return n;
}

/* Lines of any length: whole ones, as many as there is room for, and the number of the others. */
TAP_TEST(look_twice__more_than_fit)
{
	for (size_t bytes = 1; bytes < REFUSAL_TEXT_MAX; bytes += 3) {
		unsigned int n = 0, kept;
		const char *last;

		look((struct world){.refused = 1,
				    .takes_ms = 3000,
				    .lines = 40,
				    .more = 5,
				    .line_bytes = bytes});
		kept = count_lines() - 1;
		last = strrchr(w.text, '\n');
		must(last != NULL);
		is_int(sscanf(last, "\nand %u more", &n), 1);
		is_int(kept + n, 45);
		is_int(last - w.text, kept * (bytes + 1) - 1);
		okf(kept == REFUSALS_MAX || strlen(w.text) + bytes > LOOK_TEXT_MAX - 80,
		    "%u lines of %zu bytes", kept, bytes);
	}
}

TAP_TEST(look_twice__no_memory_for_sentences)
{
	look((struct world){.refused = 2, .more = 3});
	is_str(w.text, "job 7 on here holds what can't be restored, and scnoded has no memory left "
		       "to say what; free some there, and try again");
}
