// SPDX-License-Identifier: BSD-3-Clause
/* The table of a peer's life: all states and events, and each row on the record of a link. */
#include "pm-verbs/conn/lifetable.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define NEW_LIFE UINT64_MAX

static const char *const states[] = {"alive", "leaving",   "renewing", "left",      "returning",
				     "lost",  "lost-told", "dead",     "dead-told", "deleted"};

/*
 * The next state of each state, by event; - where the event means nothing. One letter for what is
 * done: Bury, Lose, Await, Part, reNew, Give up, or a point for nothing.
 */
static const char *const expected[PMV_PEER_STATES][PMV_LIFE_EVENTS] = {
	/* killed, lost, followed, goodbye, replaced, all taken, told, forsaken, removed */
	{"B dead", "L lost", "L lost-told", "P leaving", "A renewing", "-", "-", "-", "G deleted"},
	{"B dead", "B dead", "-", "-", "-", "G left", "-", "-", "G deleted"},
	{"B dead", "L lost", "L lost-told", "-", "-", "N alive", "-", "-", "G deleted"},
	{"B dead", "B dead", "-", "-", "A returning", "-", "-", "-", "G deleted"},
	{"B dead", "B dead", "-", "-", "-", "N alive", "-", "-", "G deleted"},
	{"B dead", "-", ". lost-told", "-", "-", "-", ". lost-told", "B dead-told", "G deleted"},
	{"B dead", "-", "-", "-", "-", "-", "-", "B dead-told", "G deleted"},
	{"-", "-", ". dead-told", "-", "-", "-", ". dead-told", "-", "G deleted"},
	{"-", "-", "-", "-", "-", "-", "-", "-", "G deleted"},
	{"-", "-", "-", "-", "-", "-", "-", "-", "-"},
};

static void describe(const struct pmv_life_row *row, char *text, size_t size)
{
	if (row)
		snprintf(text, size, "%c %s", ".BLAPNG"[row->action], states[row->next]);
	else
		snprintf(text, size, "-");
}

TAP_TEST(pmv_life_row__each_state_and_event)
{
	for (int s = 0; s < PMV_PEER_STATES; s++)
		for (int e = 0; e < PMV_LIFE_EVENTS; e++) {
			char text[40];

			describe(pmv_life_row((enum pmv_peer_state)s, (enum pmv_life_event)e), text,
				 sizeof(text));
			okf(!strcmp(text, expected[s][e]), "%s, event %d: %s, expected %s",
			    states[s], e, text, expected[s][e]);
		}
}

/* ---- on a link ---- */

static struct pm_link_peer *peer(void)
{
	return nodes[0].peer[1];
}

static void happen(enum pmv_life_event event)
{
	struct pmv_link *link = links_of(0);
	bool is_lost;

	for (uint32_t r = 0; r < link->n_rails; r++)
		link->rails[r].backlog = 0;
	switch (event) {
	case PMV_KILLED:
		pmv_peer_kill(link, peer(), "it is killed");
		break;
	case PMV_LOST:
		pmv_peer_lose(link, peer(), "it is lost");
		break;
	case PMV_FOLLOWED:
		is_lost = pmv_peer_follow(link, peer());
		is_int(is_lost, pmv_peer_is_lost(peer()));
		break;
	case PMV_GOODBYE_SAID:
		pmv_peer_goodbye(link, peer());
		break;
	case PMV_REPLACED:
		pmv_peer_replaced(link, peer(), NEW_LIFE);
		break;
	case PMV_ALL_TAKEN:
		pmv_peers_leave(link);
		break;
	case PMV_TOLD:
		pmv_peer_mute(link, peer());
		break;
	case PMV_FORSAKEN:
		pmv_peer_forsake(nodes[0].link, peer());
		break;
	case PMV_REMOVED:
		pmv_peer_remove(link, peer());
		break;
	case PMV_LIFE_EVENTS:
		break;
	}
}

/* A peer that is greeted, with a message that waits, in @state. */
static void begin_in(enum pmv_peer_state state)
{
	static const enum pmv_life_event ways[PMV_PEER_DELETED][3] = {
		[PMV_PEER_ALIVE] = {PMV_LIFE_EVENTS},
		[PMV_PEER_LEAVING] = {PMV_GOODBYE_SAID, PMV_LIFE_EVENTS},
		[PMV_PEER_RENEWING] = {PMV_REPLACED, PMV_LIFE_EVENTS},
		[PMV_PEER_LEFT] = {PMV_GOODBYE_SAID, PMV_ALL_TAKEN, PMV_LIFE_EVENTS},
		[PMV_PEER_RETURNING] = {PMV_GOODBYE_SAID, PMV_ALL_TAKEN, PMV_REPLACED},
		[PMV_PEER_LOST] = {PMV_LOST, PMV_LIFE_EVENTS},
		[PMV_PEER_LOST_TOLD] = {PMV_LOST, PMV_TOLD, PMV_LIFE_EVENTS},
		[PMV_PEER_DEAD] = {PMV_KILLED, PMV_LIFE_EVENTS},
		[PMV_PEER_DEAD_TOLD] = {PMV_KILLED, PMV_TOLD, PMV_LIFE_EVENTS},
	};

	fake_begin(1);
	must(links_open(2, NULL));
	links_of(0)->env.can_leave = true;
	must(links_send(0, 1, 8) == 0);
	must(peer()->stage == PMV_GREETING && peer()->queue.n == 1);
	for (int i = 0; i < 3 && ways[state][i] != PMV_LIFE_EVENTS; i++)
		happen(ways[state][i]);
	is_int(peer()->state, state);
}

/*
 * The link's counts of peers that are to be told of, and of peers that wait for what came before.
 */
static void check_counts(enum pmv_peer_state state)
{
	is_int(links_of(0)->n_dying, state == PMV_PEER_LOST || state == PMV_PEER_DEAD);
	is_int(links_of(0)->n_leaving, state == PMV_PEER_LEAVING || state == PMV_PEER_RENEWING ||
					       state == PMV_PEER_RETURNING);
}

static void check_action(enum pmv_life_action action, uint64_t dead)
{
	const struct pmv_link *link = links_of(0);

	is_int(link->stats->peers_dead, dead + (action == PMV_DO_BURY));
	is_int(link->rails[0].backlog != 0, action == PMV_DO_AWAIT || action == PMV_DO_PART);
	switch (action) {
	case PMV_DO_BURY:
	case PMV_DO_GIVE_UP:
		is_int(peer()->queue.n, 0);
		is_int(peer()->stage, PMV_IDLE);
		break;
	case PMV_DO_LOSE:
		is_int(peer()->queue.n, 1);
		is_int(peer()->stage, PMV_IDLE);
		break;
	case PMV_DO_PART:
		ok(peer()->stage != PMV_GREETING);
		break;
	case PMV_DO_RENEW:
		ok(peer()->their_life == NEW_LIFE);
		is_int(peer()->stage, PMV_GREETING);
		break;
	default:
		break;
	}
}

TAP_TEST(life__each_state_and_event)
{
	for (int s = 0; s < PMV_PEER_DELETED; s++)
		for (int e = 0; e < PMV_LIFE_EVENTS; e++) {
			const struct pmv_life_row *row =
				pmv_life_row((enum pmv_peer_state)s, (enum pmv_life_event)e);
			enum pmv_peer_state next = row ? row->next : (enum pmv_peer_state)s;
			uint64_t dead;

			begin_in((enum pmv_peer_state)s);
			check_counts((enum pmv_peer_state)s);
			dead = links_of(0)->stats->peers_dead;
			happen((enum pmv_life_event)e);
			okf(peer()->state == next, "%s, event %d: %s", states[s], e,
			    states[peer()->state]);
			check_counts(next);
			check_action(row ? row->action : PMV_DO_NOTHING, dead);
			links_close();
		}
}
