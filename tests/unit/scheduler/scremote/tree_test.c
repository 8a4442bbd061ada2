// SPDX-License-Identifier: BSD-3-Clause
/*
 * A file down a tree of agents, each with a home directory of its own; one of them goes in the
 * middle.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "tests/harness/munged.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scremote/fake_scout.h"

#define HOSTS 7 /* 0 passes on to 1 and 2, 1 to 3 and 4, 2 to 5 and 6 */
#define CHUNK 65536
#define CHUNKS 64  /* four times what may be under way to one host */
#define KILL_AT 56 /* by then hosts 3 and 4 have taken some of it, and cannot have all */
#define ZEROS_SHA256 "bb9f8df61474d25e71fa00722318cd387396ca1736605e1248821cc0de3d3af8"
#define NAME "there"

struct host {
	struct scout scout;
	char home[64], path[96];
	int port;
};

struct cluster {
	struct munged munged;
	struct host hosts[HOSTS];
};

static bool setup(struct cluster *cluster)
{
	if (!munged_start(&cluster->munged))
		return false;
	for (int i = 0; i < HOSTS; i++) {
		struct host *host = &cluster->hosts[i];

		snprintf(host->home, sizeof(host->home), "/tmp/tree_test.XXXXXX");
		ok(mkdtemp(host->home) != NULL);
		snprintf(host->path, sizeof(host->path), "%s/" NAME, host->home);
		scout_open_with(&host->scout, cluster->munged.path, host->home);
		scout_say(&host->scout, json_pack("{s:s}", "op", OP_DOOR_WANTED), NULL, 0);
		is_str(scout_hear(&host->scout, SCOUT_HEAR_MS), OP_DOOR_OPEN);
		host->port = (int)scout_number(&host->scout, "port");
	}
	return true;
}

static void teardown(struct cluster *cluster)
{
	for (int i = 0; i < HOSTS; i++) {
		struct host *host = &cluster->hosts[i];

		scout_close(&host->scout);
		unlink(host->path);
		/* The writer of a file ends after its agent. */
		okf(has_names_soon(host->home, 0) && !rmdir(host->home), "host %d has nothing left",
		    i);
	}
	munged_stop(&cluster->munged);
}

static json_t *children_of(const struct cluster *cluster, int at)
{
	json_t *children = json_array();

	for (int i = 2 * at + 1; i <= 2 * at + 2 && i < HOSTS; i++)
		json_array_append_new(
			children,
			json_pack("{s:o, s:o, s:o}", "host", json_sprintf("n%d", i), "address",
				  json_sprintf("127.0.0.1:%d", cluster->hosts[i].port), "children",
				  children_of(cluster, i)));
	return children;
}

/* The hosts that get nothing, as host 0 has reported them: their numbers, as bits. */
static unsigned int cut_of(const struct scout *scout)
{
	const json_t *name;
	unsigned int bits = 0;
	size_t i;

	json_array_foreach(json_object_get(scout->head, "hosts"), i, name)
		bits |= 1u << atoi(json_string_value(name) + 1);
	return bits;
}

/* Hears until there is room, or the host has answered; what was cut. */
static unsigned int hear(struct scout *scout, size_t *room, bool *is_done)
{
	const char *op = scout_hear(scout, SCOUT_HEAR_MS);

	*is_done |= !*op || !strcmp(op, OP_FILE_DONE) || !strcmp(op, OP_FAILED);
	if (!strcmp(op, OP_IN_ROOM))
		*room += (size_t)scout_number(scout, "bytes");
	return strcmp(op, OP_CUT) ? 0 : cut_of(scout);
}

/*
 * Sends a file of zeros to host 0; what was cut on the way. @killed on the way, if that is above 0.
 */
static unsigned int send_file(struct cluster *cluster, int killed, unsigned int want_cut)
{
	static const char zeros[CHUNK];
	struct scout *scout = &cluster->hosts[0].scout;
	size_t room = LINK_FULL;
	unsigned int cut = 0;
	bool is_done = false;

	scout_say(scout,
		  json_pack("{s:s, s:i, s:s, s:i, s:i, s:s, s:o}", "op", OP_PUT, "id", 1, "path",
			    NAME, "mode", 0600, "size", CHUNK * CHUNKS, "sha256", ZEROS_SHA256,
			    "children", children_of(cluster, 0)),
		  NULL, 0);
	for (int i = 0; i < CHUNKS; i++) {
		bool is_lost = false;

		while (room < CHUNK && !is_lost)
			cut |= hear(scout, &room, &is_lost);
		if (!ok(!is_lost))
			return cut;
		scout_say(scout, json_pack("{s:s, s:i}", "op", OP_DATA, "id", 1), zeros, CHUNK);
		room -= CHUNK;
		if (killed > 0 && i == KILL_AT)
			kill(cluster->hosts[killed].scout.agent, SIGKILL);
	}
	scout_say(scout, json_pack("{s:s, s:i}", "op", OP_DATA, "id", 1), NULL, 0);
	while (!is_done || cut != want_cut)
		if (cut |= hear(scout, &room, &is_done), !scout->head)
			break;
	ok(scout->head != NULL);
	return cut;
}

static void has_it(struct host *host)
{
	struct stat st;
	const char *op = host->scout.head ? scout_text(&host->scout, "op") : "";

	if (strcmp(op, OP_FILE_DONE) != 0)
		is_str(scout_hear(&host->scout, SCOUT_HEAR_MS), OP_FILE_DONE);
	is_str(scout_text(&host->scout, "sha256"), ZEROS_SHA256);
	must(!stat(host->path, &st));
	is_int(st.st_size, CHUNK * CHUNKS);
}

TAP_TEST(put__down_a_tree)
{
	static struct cluster cluster;

	if (!setup(&cluster))
		return;
	is_int(send_file(&cluster, 0, 0), 0);
	for (int i = 1; i < HOSTS; i++)
		has_it(&cluster.hosts[i]);
	is_int(access(cluster.hosts[0].path, F_OK), 0);
	teardown(&cluster);
}

TAP_TEST(put__a_host_in_the_tree_is_killed)
{
	static struct cluster cluster;
	const unsigned int below = 1u << 1 | 1u << 3 | 1u << 4;

	if (!setup(&cluster))
		return;
	is_int(send_file(&cluster, 1, below), below);
	has_it(&cluster.hosts[2]);
	has_it(&cluster.hosts[5]);
	has_it(&cluster.hosts[6]);
	for (int i = 3; i <= 4; i++) {
		is_str(scout_hear(&cluster.hosts[i].scout, SCOUT_HEAR_MS), OP_FAILED);
		ok(access(cluster.hosts[i].path, F_OK) != 0);
	}
	teardown(&cluster);
}
