// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/environment.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

/* A user whom the host does not know any more still has a connection. */
static const struct passwd nobody = {.pw_name = (char *)"",
				     .pw_dir = (char *)"/",
				     .pw_shell = (char *)"/bin/sh"};

int environment_complete(void)
{
	const struct passwd *found = getpwuid(geteuid()), *who = found ? found : &nobody;
	const struct {
		const char *name, *value;
	} wanted[] = {
		{"HOME", who->pw_dir},    {"USER", who->pw_name}, {"LOGNAME", who->pw_name},
		{"SHELL", who->pw_shell}, {"PATH", USUAL_PATH},   {"LANG", "C.UTF-8"},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (setenv(wanted[i].name, wanted[i].value, 0))
			return -ENOMEM;
	return 0;
}

const char *environment_home(void)
{
	const char *home = getenv("HOME");

	return home && *home == '/' ? home : "/";
}
