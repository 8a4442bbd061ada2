// SPDX-License-Identifier: BSD-3-Clause
/* criu, complaint: what programs that call themselves criu say. */
#include "scheduler/scnoded/criu/criu.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/criu/complaint.h"
#include "tests/harness/tap.h"

TAP_TEST(criu_version__recorded)
{
	int major = 0, minor = 0;

	is_int(criu_version("Version: 4.2.1\nGitID: v4.2.1\n", &major, &minor), 0);
	is_int(major, 4);
	is_int(minor, 2);
	is_int(criu_version("Warn  (criu/kerndat.c:1): x\nVersion: 3.17\n", &major, &minor), 0);
	is_int(major, 3);
	is_int(minor, 17);
}

TAP_TEST(criu_version__something_else)
{
	int major = 9, minor = 9;

	is_int(criu_version("", &major, &minor), -EINVAL);
	is_int(criu_version("4.2.1", &major, &minor), -EINVAL);
	is_int(criu_version("Version: 4", &major, &minor), -EINVAL);
	is_int(criu_version("Version: -4.-2", &major, &minor), -EINVAL);
	is_int(major, 9);
}

TAP_TEST(complaint_find__the_first_error)
{
	char why[COMPLAINT_MAX];

	complaint_find(
		"(00.01) Warn  (criu/a.c:1): careful\n"
		"(00.01) Error (criu/util.c:15): rlimit: Can't setup RLIMIT_NOFILE for self: "
		"Operation not permitted\n"
		"(00.03) Error (criu/sk-inet.c:1059): inet: Can't bind: Address in use\n"
		"(00.04) Error (criu/cr-restore.c:2320): Restoring FAILED.\n",
		why);
	is_str(why, "inet: Can't bind: Address in use");
	complaint_find("one\nother\n\n", why);
	is_str(why, "other");
	complaint_find("", why);
	is_str(why, "");
}

TAP_TEST(complaint_find__names_of_the_user)
{
	char log[2 * COMPLAINT_MAX], why[COMPLAINT_MAX];

	complaint_find("Error (criu/a.c:1): file \033[2J\xff\t.", why);
	is_str(why, "file ?[2J??.");
	memset(log, 'x', sizeof(log) - 1);
	log[sizeof(log) - 1] = 0;
	complaint_find(log, why);
	is_int(strlen(why), COMPLAINT_MAX - 1);
}

static char path[64];

/* A program that says @version, and whose check fails if it is @broken. */
static void write_program(const char *version, bool broken)
{
	FILE *f;

	strcpy(path, "/var/tmp/criu-XXXXXX");
	must((f = fdopen(mkstemp(path), "w")) != NULL);
	fprintf(f, "#!/bin/sh\n[ $1 = --version ] && { echo %s; exit 0; }\n", version);
	fprintf(f, "%s\n", broken ? "echo 'Error (criu/k.c:1): no ptrace' >&2; exit 1" : "exit 0");
	must(!fchmod(fileno(f), 0755) && !fclose(f));
}

TAP_TEST(criu_find__good_old_and_broken)
{
	char want[256], *text;
	struct criu criu;

	write_program("Version: 4.2.1", false);
	is_str(criu_find(&criu, path, "h0"), NULL);
	is_int(criu.major, 4);
	is_str(criu.program, path);
	unlink(path);
	write_program("Version: 4.1", false);
	text = criu_find(&criu, path, "h0");
	snprintf(want, sizeof(want),
		 "host h0: %s is CRIU 4.1, which is too old; install CRIU 4.2 or later there, or "
		 "name it with --criu",
		 path);
	is_str(text, want);
	free(text);
	unlink(path);
	write_program("Version: 4.2", true);
	text = criu_find(&criu, path, "h0");
	snprintf(want, sizeof(want),
		 "host h0: \"%s check\" exited with code 1: no ptrace; install CRIU 4.2 or later "
		 "there, or name it with --criu",
		 path);
	is_str(text, want);
	free(text);
	unlink(path);
}

TAP_TEST(criu_find__none)
{
	struct criu criu;
	char *text = criu_find(&criu, "/nowhere/criu", "h0");

	is_str(text, "host h0: no program /nowhere/criu: No such file or directory; install CRIU "
		     "4.2 or later there, or name it with --criu");
	free(text);
	must(!setenv("PATH", "/nowhere:relative", 1));
	text = criu_find(&criu, NULL, "h0");
	is_str(text, "host h0: no program criu in PATH: No such file or directory; install CRIU "
		     "4.2 or later there, or name it with --criu");
	free(text);
}
