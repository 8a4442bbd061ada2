// SPDX-License-Identifier: BSD-3-Clause
/* scout: a session is asked where its scored is, when nobody else says it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scrun/scout.h"
#include "tests/harness/tap.h"

TAP_TEST(scout_is_asked__only_in_a_session_without_another_server)
{
	unsetenv("SCORE_SERVER");
	unsetenv("SCOUT_SESSION");
	ok(!scout_is_asked(NULL));
	setenv("SCOUT_SESSION", "/tmp/s", 1);
	ok(scout_is_asked(NULL));
	ok(!scout_is_asked("front"));
	setenv("SCORE_SERVER", "", 1);
	ok(scout_is_asked(NULL));
	setenv("SCORE_SERVER", "front", 1);
	ok(!scout_is_asked(NULL));
}

TAP_TEST(scout_is_overruled__by_the_environment)
{
	unsetenv("SCOUT_SESSION");
	setenv("SCORE_SERVER", "front", 1);
	ok(!scout_is_overruled(NULL));
	setenv("SCOUT_SESSION", "/tmp/s", 1);
	is_str(scout_is_overruled(NULL), "front");
	ok(!scout_is_overruled("other"));
	setenv("SCORE_SERVER", "", 1);
	ok(!scout_is_overruled(NULL));
	unsetenv("SCORE_SERVER");
	ok(!scout_is_overruled(NULL));
}

/* A program that does what @body says. */
static void pretend(char *path, const char *body)
{
	int fd = mkstemp(path);

	must(fd >= 0);
	must(dprintf(fd, "#!/bin/sh\n%s\n", body) > 0);
	must(!fchmod(fd, 0700));
	close(fd);
	setenv("SCOUT_PROGRAM", path, 1);
}

static void check(const char *body, int want_error, const char *want)
{
	char path[] = "/tmp/scrun-scout-XXXXXX", why[256] = "", *address = NULL;

	pretend(path, body);
	is_int(scout_server(&address, why, sizeof(why)), want_error);
	if (!want_error)
		is_str(address, want);
	else
		ok(!*why == !want);
	free(address);
	unlink(path);
}

TAP_TEST(scout_server__what_it_prints)
{
	check("test \"$*\" = --private-scored && echo front:1234", 0, "front:1234");
	check("echo front:1; echo more", 0, "front:1");
}

TAP_TEST(scout_server__that_fails_has_said_why)
{
	check("exit 1", -EIO, NULL);
	check("echo front:1; kill -9 $$", -EIO, NULL);
	check("exit 0", -EPROTO, "told");
}

TAP_TEST(scout_server__no_such_program)
{
	char why[256], *address;

	setenv("SCOUT_PROGRAM", "/no/such/scout", 1);
	is_int(scout_server(&address, why, sizeof(why)), -ENOENT);
	is_str(why, "/no/such/scout, which starts the scored of this session: No such file or "
		    "directory");
}
