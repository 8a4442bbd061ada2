// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/round.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int round_init(struct round *round, uint64_t number, size_t n_hosts)
{
	*round = (struct round){.number = number, .n_hosts = n_hosts};
	round->hosts = calloc(n_hosts, sizeof(*round->hosts));
	return round->hosts ? 0 : -ENOMEM;
}

void round_fini(struct round *round)
{
	free(round->hosts);
}

static bool have_all(const struct round *round, enum round_stage stage)
{
	for (size_t h = 0; h < round->n_hosts; h++)
		if (round->hosts[h].stage < stage)
			return false;
	return true;
}

static enum round_next end(struct round *round, enum round_next how)
{
	round->is_over = true;
	return how;
}

/* The ranks' answer is awaited in any case: until it comes, hosts may be about to dump. */
static enum round_next next(struct round *round)
{
	if (round->is_over || round->is_asked)
		return ROUND_WAIT;
	if (*round->text)
		return end(round, ROUND_FAILED);
	if (have_all(round, ROUND_COMMITTED))
		return end(round, ROUND_DONE);
	return ROUND_WAIT;
}

static void note(struct round *round, const char *text)
{
	if (!*round->text)
		snprintf(round->text, sizeof(round->text), "%s", text);
}

enum round_next round_told(struct round *round, size_t host, enum round_stage stage, uint64_t bytes,
			   const char *text)
{
	struct round_host *at = &round->hosts[host];

	if (round->is_over || stage != at->stage + 1)
		return ROUND_WAIT;
	if (*text) {
		note(round, text);
		return next(round);
	}
	at->stage = stage;
	at->bytes = bytes;
	if (*round->text)
		return next(round);
	if (stage == ROUND_PREPARED && have_all(round, ROUND_PREPARED)) {
		round->is_asked = true;
		return ROUND_STAND;
	}
	if (stage == ROUND_DUMPED && round->has_stood && have_all(round, ROUND_DUMPED))
		return ROUND_COMMIT;
	return next(round);
}

enum round_next round_stood(struct round *round, double stood_s, const char *text)
{
	if (!round->is_asked)
		return ROUND_WAIT;
	round->is_asked = false;
	round->has_stood = true;
	round->stood_s = stood_s;
	if (*text)
		note(round, text);
	if (!*round->text && have_all(round, ROUND_DUMPED))
		return ROUND_COMMIT;
	return next(round);
}

enum round_next round_fail(struct round *round, const char *text)
{
	note(round, text);
	return next(round);
}

uint64_t round_bytes(const struct round *round)
{
	uint64_t bytes = 0;

	for (size_t h = 0; h < round->n_hosts; h++)
		bytes += round->hosts[h].bytes;
	return bytes;
}
