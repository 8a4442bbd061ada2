// SPDX-License-Identifier: BSD-3-Clause
/*
 * environment: the variables that every command finds, also where the host does not know the user.
 */
#include "scheduler/scremote/environment.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define UNKNOWN_UID 3999999999u

static const char *const names[] = {"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG"};
#define N_NAMES (sizeof(names) / sizeof(*names))

static void clear(void)
{
	for (size_t i = 0; i < N_NAMES; i++)
		unsetenv(names[i]);
}

TAP_TEST(environment_complete__nothing_is_there)
{
	const struct passwd *who = getpwuid(geteuid());

	if (!who) {
		tap_skip("this user is not in passwd");
		return;
	}
	clear();
	is_int(environment_complete(), 0);
	is_str(getenv("HOME"), who->pw_dir);
	is_str(getenv("USER"), who->pw_name);
	is_str(getenv("LOGNAME"), who->pw_name);
	is_str(getenv("SHELL"), who->pw_shell);
	is_str(getenv("PATH"), "/usr/local/bin:/usr/bin:/bin");
	is_str(getenv("LANG"), "C.UTF-8");
}

TAP_TEST(environment_complete__keeps_what_is_there)
{
	for (size_t i = 0; i < N_NAMES; i++)
		setenv(names[i], "mine", 1);
	is_int(environment_complete(), 0);
	for (size_t i = 0; i < N_NAMES; i++)
		is_str(getenv(names[i]), "mine");
}

TAP_TEST(environment_complete__a_user_whom_the_host_does_not_know)
{
	int rc;

	if (geteuid() || seteuid(UNKNOWN_UID)) {
		tap_skip("only root can become such a user");
		return;
	}
	clear();
	rc = environment_complete();
	is_int(seteuid(0), 0);
	is_int(rc, 0);
	is_str(getenv("HOME"), "/");
	is_str(getenv("USER"), "");
	is_str(getenv("SHELL"), "/bin/sh");
}

TAP_TEST(environment_home__is_always_a_path)
{
	setenv("HOME", "/somewhere", 1);
	is_str(environment_home(), "/somewhere");
	setenv("HOME", "relative", 1);
	is_str(environment_home(), "/");
	setenv("HOME", "", 1);
	is_str(environment_home(), "/");
	unsetenv("HOME");
	is_str(environment_home(), "/");
}
