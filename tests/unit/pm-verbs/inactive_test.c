// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ports that are named and not active when a context is opened: what is used instead, and what is
 * said.
 */
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/hw/events.h"
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#include "pm.h"

static void set_active(int device, bool is_active)
{
	fake.ports[device].attr.state = is_active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
}

/* A context with these options has that note. */
static void open_context(const char *options, const char *want_note, bool has_verbs)
{
	char config[200];
	struct pmOptions pm_options = {
		.size = sizeof(pm_options), .job_key = 5, .self = 1, .config = config};
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	pmContext ctx = PM_CONTEXT_NONE;
	const char *note;

	snprintf(config, sizeof(config), "devices=self+verbs+udp,udp.rails=lo,%s", options);
	unsetenv("PM_OPTIONS");
	must(pmOpenContext(&pm_options, &ctx) == PM_SUCCESS);
	is_int(pmGetNote(ctx, &note), PM_SUCCESS);
	is_str(note, want_note);
	is_int(pmGetAddress(ctx, address, &len), PM_SUCCESS);
	ok((memmem(address, len, "verbs", 5) != NULL) == has_verbs);
	is_int(pmCloseContext(ctx), PM_SUCCESS);
}

TAP_TEST(inactive__some_of_them)
{
	static const char *const paths[] = {"connected", "datagram"};

	for (int i = 0; i < 2; i++) {
		char options[100];

		fake_begin(4);
		set_active(1, false);
		set_active(3, false);
		snprintf(options, sizeof(options), "verbs.path=%s,verbs.devices=fake0+fake1",
			 paths[i]);
		open_context(options,
			     "verbs: going on without fake1: not active, bring the link up", true);
		strcat(options, "+fake2+fake3:1");
		open_context(
			options,
			"verbs: going on without fake1, fake3:1: not active, bring the link up",
			true);
		/* of those that nobody named nothing is said */
		open_context("verbs.path=connected", "", true);
		fake_end();
	}
}

TAP_TEST(inactive__all_of_them)
{
	fake_begin(2);
	set_active(0, false);
	set_active(1, false);
	open_context("verbs.devices=fake1+fake0",
		     "going on without a device: verbs.devices=fake0: the port is not active: "
		     "bring its link up",
		     false);
	fake_end();
}

/* One that does not exist is a mistake. */
TAP_TEST(inactive__beside_an_unknown_one)
{
	fake_begin(2);
	set_active(0, false);
	open_context("verbs.devices=fake0+fake1+fake7",
		     "going on without a device: verbs.devices=fake7: there is no such port here, "
		     "there are fake0:1, fake1:1",
		     false);
	fake_end();
}

/* The second wire is the second one for both. */
TAP_TEST(inactive__wires_keep_their_numbers)
{
	fake_begin(4);
	memset(nodes, 0, sizeof(nodes));
	set_active(2, false);
	fake.ports[0].is_cut = true;
	must(node_open(&nodes[0], 0, "verbs.devices=fake0+fake1") == 0);
	must(node_open(&nodes[1], 1, "verbs.devices=fake2+fake3") == 0);
	must(links_add(0, 1) && links_add(1, 0));
	is_int(nodes[0].peer[1]->n_pairs, 1);
	is_int(nodes[0].peer[1]->pairs[0].ours, 1);
	is_int(nodes[0].peer[1]->pairs[0].theirs, 0);
	must(links_send(0, 1, 8) == 0 && links_send(1, 0, 8) == 0);
	links_drain();
	links_close();
}

/*
 * A port that went down after the open, of the one that calls or the one that is called: no
 * connection is tried by it.
 */
TAP_TEST(inactive__first_contact_by_the_other_port)
{
	for (int down = 0; down < 4; down++) {
		for (int caller = 0; caller < 2; caller++) {
			fake_begin(4);
			memset(nodes, 0, sizeof(nodes));
			must(node_open(&nodes[0], 0, "verbs.devices=fake0+fake1") == 0);
			must(node_open(&nodes[1], 1, "verbs.devices=fake2+fake3") == 0);
			must(links_add(0, 1) && links_add(1, 0));
			fake.ports[down].is_cut = true;
			fake_event(down, IBV_EVENT_PORT_ERR);
			pmv_events(links_of(down / 2));
			must(links_send(caller, !caller, 8) == 0);
			links_drain();
			for (int i = 0; i < 2; i++) {
				struct pm_link_peer *peer = nodes[i].peer[!i];

				is_int(peer->stage, PMV_READY);
				is_str(peer->why, "");
				is_int(peer->pairs[pmv_pair_of(links_of(i), peer)].ours,
				       !(down % 2));
			}
			links_close();
		}
	}
}

/*
 * Each side believes another port of its own to be down, and both are back unheard. If each left
 * out what the other one chooses, they would go on like that until one calls the other dead.
 */
TAP_TEST(inactive__ports_are_back_unheard)
{
	fake_begin(4);
	memset(nodes, 0, sizeof(nodes));
	must(node_open(&nodes[0], 0, "verbs.devices=fake0+fake1") == 0);
	must(node_open(&nodes[1], 1, "verbs.devices=fake2+fake3") == 0);
	must(links_add(0, 1) && links_add(1, 0));
	fake_event(0, IBV_EVENT_PORT_ERR);
	fake_event(3, IBV_EVENT_PORT_ERR);
	for (int i = 0; i < 4; i++)
		fake.ports[i].is_cut = true;
	links_hear();
	must(links_send(0, 1, 8) == 0 && links_send(1, 0, 8) == 0);
	links_run(3, 300);
	for (int i = 0; i < 4; i++)
		fake.ports[i].is_cut = false;
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	fake_event(3, IBV_EVENT_PORT_ACTIVE);
	for (int i = 0; i < 2; i++) {
		node_still(&nodes[i]);
		links_of(i)->idle = 0;
	}
	for (int i = 0; i < 100; i++) {
		links_turn(PMV_IDLE_CHORES);
		links_pass_time(10000000);
	}
	is_int(nodes[1].received[0], 1);
	is_int(nodes[0].received[1], 1);
	is_int(nodes[0].dead + nodes[1].dead, 0);
	okf(nodes[0].peer[1]->epoch < 5, "connection %u", nodes[0].peer[1]->epoch);
	links_close();
}
