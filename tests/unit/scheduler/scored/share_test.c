// SPDX-License-Identifier: BSD-3-Clause
/* How many places jobs may hold: in every state that some users can come to by any course. */
#include "scheduler/scored/share.h"

#include <string.h>

#include "tests/harness/tap.h"

#define USERS 4
#define PLACES_MAX 18 /* of the courses */
#define SIDE PLACES_MAX

/* Jobs of each user, and which such states can be come to. */
static bool is_seen[SIDE * SIDE * SIDE * SIDE];
static size_t ways[SIDE * SIDE * SIDE * SIDE], n_ways;

static void read_state(size_t state, size_t jobs[USERS])
{
	for (int u = USERS - 1; u >= 0; u--) {
		jobs[u] = state % SIDE;
		state /= SIDE;
	}
}

static size_t sum(const size_t jobs[USERS])
{
	size_t all = 0;

	for (int u = 0; u < USERS; u++)
		all += jobs[u];
	return all;
}

static void come_to(const size_t jobs[USERS])
{
	size_t state = 0;

	for (int u = 0; u < USERS; u++)
		state = state * SIDE + jobs[u];

	if (is_seen[state])
		return;
	is_seen[state] = true;
	ways[n_ways++] = state;
}

/* Goes on from a state by each job that may be submitted, and by the end of each. */
static void go_on(size_t places, size_t jobs[USERS])
{
	size_t all = sum(jobs);

	for (int u = 0; u < USERS; u++) {
		if (share_allows(places, jobs[u], all)) {
			jobs[u]++;
			come_to(jobs);
			jobs[u]--;
		}
		if (jobs[u]) {
			jobs[u]--;
			come_to(jobs);
			jobs[u]++;
		}
	}
}

/* The promises of share.h in one state. */
static bool is_fair(size_t places, const size_t jobs[USERS])
{
	size_t all = sum(jobs), users = 0, most = 0;

	for (int u = 0; u < USERS; u++) {
		users += jobs[u] > 0;
		most = jobs[u] > most ? jobs[u] : most;
	}
	return all + (places + 7) / 8 <= places && 2 * most <= places &&
	       (share_allows(places, 0, all) || 8 * users + 7 >= places);
}

TAP_TEST(share_allows__in_every_state)
{
	for (size_t places = 1; places <= PLACES_MAX; places++) {
		size_t none[USERS] = {0}, n_unfair = 0;

		memset(is_seen, 0, sizeof(is_seen));
		n_ways = 0;
		come_to(none);
		for (size_t at = 0; at < n_ways; at++) {
			size_t jobs[USERS];

			read_state(ways[at], jobs);
			n_unfair += !is_fair(places, jobs);
			go_on(places, jobs);
		}
		okf(!n_unfair, "%zu places: %zu of %zu states are unfair", places, n_unfair,
		    n_ways);
	}
}

/* A user with fewer jobs, or at a time with fewer jobs, is not refused what another one gets. */
TAP_TEST(share_allows__never_less_to_who_has_less)
{
	size_t n_odd = 0;

	for (size_t places = 0; places <= 64; places++)
		for (size_t all = 0; all <= places + 1; all++)
			for (size_t own = 0; own <= all; own++) {
				bool is = share_allows(places, own, all);

				n_odd += is && own && !share_allows(places, own - 1, all);
				n_odd += is && all > own && !share_allows(places, own, all - 1);
				/* where account.c does not count */
				n_odd += !is && places > 1 && all < places / 2;
			}
	is_int(n_odd, 0);
}

/* The usual limit of 1024 descriptors without a unit. */
TAP_TEST(share_allows__users_one_after_the_other)
{
	static const size_t most[] = {320, 160, 1};
	size_t all = 0, users = 0;

	for (size_t own = 1; own; users++) {
		for (own = 0; share_allows(640, own, all); all++)
			own++;
		is_int(own, !own ? 0 : users < 2 ? most[users] : most[2]);
	}
	is_int(all, 640 - 80);
	is_int(users - 1, 2 + 80);
}
