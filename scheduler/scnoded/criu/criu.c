// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/criu/criu.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"
#include "scheduler/scnoded/criu/complaint.h"
#include "scheduler/scnoded/criu/program.h"

#define WORDS_MAX 8192
#define REMEDY "install CRIU 4.2 or later there, or name it with --criu"

/* As execve() wants it: not constant. */
static char search[] = PROGRAM_PATH;

int criu_version(const char *said, int *ret_major, int *ret_minor)
{
	static const char key[] = "Version: ";
	const char *at = strstr(said, key);
	int major, minor;

	if (!at || sscanf(at + strlen(key), "%4d.%4d", &major, &minor) != 2 || major < 0 ||
	    minor < 0)
		return -EINVAL;
	*ret_major = major;
	*ret_minor = minor;
	return 0;
}

/* The whole path, as it is executed by processes with another working directory. */
static bool find_program(struct criu *criu, const char *said)
{
	const char *path = getenv("PATH");

	if (said)
		return realpath(said, criu->program) && !access(criu->program, X_OK);
	for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
		size_t n = strcspn(at, ":");

		if (*at == '/' &&
		    snprintf(criu->program, sizeof(criu->program), "%.*s/criu", (int)n, at) <
			    (int)sizeof(criu->program) &&
		    !access(criu->program, X_OK))
			return true;
		at += n;
	}
	errno = ENOENT;
	return false;
}

static int ask(const struct criu *criu, const char *word, char words[WORDS_MAX])
{
	const char *const argv[] = {"criu", word, NULL};
	char *const env[] = {search, NULL};
	struct program program = {
		.path = criu->program, .argv = argv, .env = env, .files = {-1}, .n_files = 3};

	return program_ask(&program, words, WORDS_MAX);
}

/* The sentence for one that does not do what it should. */
static char *fault(const struct criu *criu, const char *host, const char *word, int status,
		   const char *words)
{
	char end[128], why[COMPLAINT_MAX];

	complaint_find(words, why);
	return daemon_text("host %s: \"%s %s\" %s%s%s; " REMEDY, host, criu->program, word,
			   program_end(status, end, sizeof(end)), *why ? ": " : "", why);
}

char *criu_find(struct criu *ret, const char *said, const char *host)
{
	char words[WORDS_MAX];
	int status;

	if (!find_program(ret, said))
		return daemon_text("host %s: no program %s: %m; " REMEDY, host,
				   said ? said : "criu in PATH");
	status = ask(ret, "--version", words);
	if (status || criu_version(words, &ret->major, &ret->minor))
		return fault(ret, host, "--version", status, words);
	if (ret->major < CRIU_MAJOR || (ret->major == CRIU_MAJOR && ret->minor < CRIU_MINOR))
		return daemon_text("host %s: %s is CRIU %d.%d, which is too old; " REMEDY, host,
				   ret->program, ret->major, ret->minor);
	status = ask(ret, "check", words);
	return status ? fault(ret, host, "check", status, words) : NULL;
}
