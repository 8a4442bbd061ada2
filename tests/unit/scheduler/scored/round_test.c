// SPDX-License-Identifier: BSD-3-Clause
/* round: some ways through it, and then every order of events that two hosts may make. */
#include "scheduler/scored/round.h"

#include <string.h>

#include "tests/harness/tap.h"

#define HOSTS 2
#define DEPTH 7 /* events: those of a round that goes well */

static struct round begun(void)
{
	struct round round;

	ok(!round_init(&round, 3, HOSTS));
	return round;
}

/* Both hosts; what the second one's answer leads to. */
static enum round_next both(struct round *round, enum round_stage stage)
{
	is_int(round_told(round, 0, stage, 10, ""), ROUND_WAIT);
	return round_told(round, 1, stage, 20, "");
}

TAP_TEST(round__goes_well)
{
	struct round round = begun();

	is_int(both(&round, ROUND_PREPARED), ROUND_STAND);
	is_int(both(&round, ROUND_DUMPED), ROUND_WAIT);
	is_int(round_stood(&round, 0.5, ""), ROUND_COMMIT);
	is_int(round_bytes(&round), 30);
	is_int(both(&round, ROUND_COMMITTED), ROUND_DONE);
	ok(round.stood_s == 0.5);
	round_fini(&round);
}

/* A host needs longer to write than the ranks stand still. */
TAP_TEST(round__a_slow_disk)
{
	struct round round = begun();

	is_int(both(&round, ROUND_PREPARED), ROUND_STAND);
	is_int(round_told(&round, 1, ROUND_DUMPED, 1, ""), ROUND_WAIT);
	is_int(round_stood(&round, 0.5, ""), ROUND_WAIT);
	is_int(round_told(&round, 0, ROUND_DUMPED, 1, ""), ROUND_COMMIT);
	round_fini(&round);
}

TAP_TEST(round__a_host_can_not_prepare)
{
	struct round round = begun();

	is_int(round_told(&round, 1, ROUND_PREPARED, 0, "no criu"), ROUND_FAILED);
	is_str(round.text, "no criu");
	is_int(round_told(&round, 0, ROUND_PREPARED, 0, ""), ROUND_WAIT);
	round_fini(&round);
}

/* The first reason is told; the ranks must go on before the images are dropped. */
TAP_TEST(round__a_host_can_not_dump)
{
	struct round round = begun();

	is_int(both(&round, ROUND_PREPARED), ROUND_STAND);
	is_int(round_told(&round, 0, ROUND_DUMPED, 0, "disk full"), ROUND_WAIT);
	is_int(round_told(&round, 1, ROUND_DUMPED, 1, ""), ROUND_WAIT);
	is_int(round_stood(&round, 0.5, "a host failed"), ROUND_FAILED);
	is_str(round.text, "disk full");
	round_fini(&round);
}

TAP_TEST(round__a_host_can_not_commit)
{
	struct round round = begun();

	both(&round, ROUND_PREPARED);
	both(&round, ROUND_DUMPED);
	is_int(round_stood(&round, 0.5, ""), ROUND_COMMIT);
	is_int(round_told(&round, 0, ROUND_COMMITTED, 0, "disk full"), ROUND_FAILED);
	is_int(round_told(&round, 1, ROUND_COMMITTED, 0, ""), ROUND_WAIT);
	round_fini(&round);
}

TAP_TEST(round__wrong_answers)
{
	struct round round = begun();

	is_int(round_stood(&round, 0.5, ""), ROUND_WAIT);
	is_int(round_told(&round, 0, ROUND_COMMITTED, 0, ""), ROUND_WAIT);
	is_int(round_told(&round, 0, ROUND_DUMPED, 0, "early"), ROUND_WAIT);
	is_int(round_told(&round, 0, ROUND_PREPARED, 0, ""), ROUND_WAIT);
	is_int(round_told(&round, 0, ROUND_PREPARED, 0, "again"), ROUND_WAIT);
	is_int(round_told(&round, 1, ROUND_PREPARED, 0, ""), ROUND_STAND);
	round_fini(&round);
}

/* ---- every order ---- */

/* The answers so far on one path. */
struct outcome {
	unsigned int n_stand, n_commit, n_ends;
	bool is_done, is_wrong;
};

static unsigned int n_paths, n_done;

static bool have_all(const struct round *round, enum round_stage stage)
{
	return round->hosts[0].stage >= stage && round->hosts[1].stage >= stage;
}

static struct outcome judge(const struct round *round, struct outcome before, enum round_next next)
{
	struct outcome now = before;

	now.n_stand += next == ROUND_STAND;
	now.n_commit += next == ROUND_COMMIT;
	now.n_ends += next == ROUND_DONE || next == ROUND_FAILED;
	now.is_done |= next == ROUND_DONE;
	now.is_wrong |= now.n_stand > 1 || now.n_commit > 1 || now.n_ends > 1;
	now.is_wrong |= before.n_ends && next != ROUND_WAIT;
	now.is_wrong |= next == ROUND_STAND && (!have_all(round, ROUND_PREPARED) || *round->text);
	now.is_wrong |= next == ROUND_COMMIT &&
			(!have_all(round, ROUND_DUMPED) || !round->has_stood || *round->text);
	now.is_wrong |= next == ROUND_DONE && (!now.n_commit || !have_all(round, ROUND_COMMITTED));
	now.is_wrong |= next == ROUND_FAILED && (!*round->text || round->is_asked);
	return now;
}

#define EVENTS (HOSTS * 3 * 2 + 2 + 1)

static enum round_next play(struct round *round, unsigned int event)
{
	const char *text = event % 2 ? "wrong" : "";

	if (event < HOSTS * 3 * 2)
		return round_told(round, event / 2 % HOSTS,
				  (enum round_stage)(ROUND_PREPARED + event / 2 / HOSTS), 1, text);
	if (event < HOSTS * 3 * 2 + 2)
		return round_stood(round, 0.1, text);
	return round_fail(round, "lost");
}

/* Events that change nothing are not followed. */
static bool walk(const struct round *from, struct outcome before, unsigned int depth)
{
	for (unsigned int event = 0; event < EVENTS; event++) {
		struct round_host hosts[HOSTS];
		struct round to = *from;
		struct outcome now;

		memcpy(hosts, from->hosts, sizeof(hosts));
		to.hosts = hosts;
		now = judge(&to, before, play(&to, event));
		n_paths++;
		n_done += now.is_done && !before.is_done;
		if (now.is_wrong) {
			tap_diag("event %u, %u to go", event, depth);
			return false;
		}
		if (!memcmp(&now, &before, sizeof(now)) &&
		    !memcmp(hosts, from->hosts, sizeof(hosts)) && to.is_asked == from->is_asked &&
		    to.has_stood == from->has_stood && !strcmp(to.text, from->text))
			continue;
		if (depth && !walk(&to, now, depth - 1))
			return false;
	}
	return true;
}

TAP_TEST(round__every_order)
{
	struct round round = begun();

	ok(walk(&round, (struct outcome){.n_ends = 0}, DEPTH));
	tap_diag("%u events, %u rounds that went well", n_paths, n_done);
	ok(n_done > 0);
	round_fini(&round);
}
