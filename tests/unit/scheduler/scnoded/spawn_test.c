// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/spawn.h"

#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define MANY 1000

/* Groups that every user has; -1: they cannot be listed. */
static int n_groups;
static int n_asked;

int getgrouplist(const char *user, gid_t group, gid_t *groups, int *n)
{
	int room = *n;

	(void)user;
	n_asked++;
	if (n_groups < 0)
		return -1;
	*n = n_groups;
	for (int i = 0; i < n_groups && i < room; i++)
		groups[i] = group + (gid_t)i;
	return n_groups <= room ? n_groups : -1;
}

/* Others run programs as themselves only, and need no list. */
uid_t geteuid(void)
{
	return 0;
}

static char *prepare(struct spawn *spawn)
{
	static struct scnoded daemon = {.name = "here"};

	n_asked = 0;
	return spawn_prepare(spawn, &daemon, "true", "/bin/true", 0, 0, "jobs");
}

TAP_TEST(spawn_prepare__user_with_few_groups)
{
	struct spawn spawn;

	n_groups = 3;
	ok(!prepare(&spawn));
	is_int(spawn.n_groups, 3);
	is_int(spawn.groups[2], 2);
	is_int(n_asked, 1);
	spawn_fini(&spawn);
}

TAP_TEST(spawn_prepare__user_with_many_groups_has_them_all)
{
	struct spawn spawn;

	n_groups = MANY;
	ok(!prepare(&spawn));
	is_int(spawn.n_groups, MANY);
	is_int(spawn.groups[MANY - 1], MANY - 1);
	is_int(n_asked, 2);
	spawn_fini(&spawn);
}

TAP_TEST(spawn_prepare__groups_that_cannot_be_listed)
{
	struct spawn spawn;
	char *text;

	n_groups = -1;
	text = prepare(&spawn);
	is_str(text, "host here: the groups of user root cannot be listed");
	free(text);
	spawn_fini(&spawn);
}
