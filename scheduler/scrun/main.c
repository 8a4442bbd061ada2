// SPDX-License-Identifier: BSD-3-Clause
/* scrun - starts an MPI job on the cluster, and is its user's hand until it ends; see scrun(1). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/scrun/ending.h"
#include "scheduler/scrun/files.h"
#include "scheduler/scrun/mpir.h"
#include "scheduler/scrun/request.h"
#include "scheduler/scrun/say.h"
#include "scheduler/scrun/scout.h"
#include "scheduler/scrun/server.h"
#include "scheduler/scrun/session.h"

#define RESTARTS_IN_VAIN 3

extern char **environ;

/* A socket must not become standard output because that was closed. */
static void open_standard(void)
{
	int fd = open("/dev/null", O_RDWR);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = dup(fd);
	if (fd >= 0)
		close(fd);
}

static int check_pattern(const struct options *options)
{
	const struct files_words words = {.host = "host", .stream = 1};
	char wrong, *name;

	if (!options->output)
		return 0;
	name = files_name(options->output, &words, &wrong);
	free(name);
	if (!wrong)
		return 0;
	say("--output %s: %%%c is not known; known are %%r %%h %%j %%w %%s %%%%", options->output,
	    wrong);
	return -EINVAL;
}

/* NULL: why is said. */
static char *find_server(const struct options *options)
{
	const char *other = scout_is_overruled(options->server);
	char why[512], *address = NULL;

	if (other && !options->is_quiet)
		say("SCORE_SERVER=%s leads out of this scout session, whose hosts are locked "
		    "there; unset "
		    "it to run on them",
		    other);
	if (!scout_is_asked(options->server)) {
		address = server_address(options->server);
		if (!address)
			say("no memory");
	} else if (scout_server(&address, why, sizeof(why)) && *why) {
		say("%s", why);
	}
	return address;
}

/*
 * Of a job that was lost: from its last checkpoint, again and again. If it is lost each time before
 * it has got any further, something else is wrong than a host.
 */
static int restore(const struct options *options, struct job *job, const char *address,
		   struct session_end end)
{
	struct options again = *options;
	uint64_t from = 0;
	unsigned int in_vain = 0;

	again.waits = true;
	/* Nobody knows how much of it the ranks have read since. */
	again.stdin_file = "/dev/null";
	while (end.checkpoint) {
		in_vain = end.checkpoint == from ? in_vain + 1 : 0;
		from = end.checkpoint;
		if (in_vain == RESTARTS_IN_VAIN) {
			say("job %llu: it was restored %d times from checkpoint %llu, and lost "
			    "each time; look after its hosts (scinfo), then try scrun --restart "
			    "%llu",
			    (unsigned long long)end.id, RESTARTS_IN_VAIN, (unsigned long long)from,
			    (unsigned long long)end.id);
			break;
		}
		again.restart_id = end.id;
		end = session_run(&again, job, address, true);
	}
	return end.code;
}

static int run(const struct options *options)
{
	struct session_end end = {.code = ENDING_STARTLESS};
	struct job *job;
	char why[512], *address;
	int code = request_build(&job, options, environ, why, sizeof(why));

	if (code) {
		say("%s", why);
		return code == -EINVAL ? ENDING_USAGE : ENDING_STARTLESS;
	}
	/* A debugger that has started us stops at main() and sets it. */
	job->is_debugged = MPIR_being_debugged;
	address = find_server(options);
	if (address)
		end = session_run(options, job, address, false);
	code = restore(options, job, address, end);
	free(address);
	job_free(job);
	return code;
}

int main(int argc, char **argv)
{
	struct options options;
	char why[512];
	int code = 0;

	open_standard();
	if (options_read(&options, argc, argv, why, sizeof(why))) {
		say("%s", why);
		code = ENDING_USAGE;
	} else if (options.wants_help) {
		fputs(options_usage, stdout);
	} else if (options.wants_version) {
		puts("scrun (OpenSCore) " PM_VERSION);
	} else {
		code = check_pattern(&options) ? ENDING_USAGE : run(&options);
	}
	options_fini(&options);
	if (!fflush(stdout))
		return code;
	say("standard output: cannot be written: %m; make room, or name another place for it");
	return EXIT_FAILURE;
}
