// SPDX-License-Identifier: BSD-3-Clause
/* pmstat - the counters of every PM context on this host, once or again and again. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/options.h"
#include "pmcore/tools/common/wait.h"
#include "pmcore/tools/pmstat/sample.h"
#include "pmcore/tools/pmstat/show.h"

struct request {
	uint64_t pid;      /* only this process, 0 = all */
	const char *watch; /* not NULL: again and again; its text is the interval */
	double seconds;    /* the interval */
	bool json;         /* JSON instead of tables */
};

#define SPEC(...) OPTION_SPEC(struct request, __VA_ARGS__)

static const struct option_spec specs[] = {
	SPEC("watch", OPTION_MAYBE, watch, "SECONDS", "show rates, again and again (default 1)"),
	SPEC("pid", OPTION_COUNT, pid, "PID", "only the contexts of this process", .min = 1,
	     .max = UINT32_MAX),
	SPEC("json", OPTION_FLAG, json, NULL, "one JSON object per line"),
	{.name = NULL},
};

static int usage(const char *why)
{
	message_error("%s", why);
	return -EINVAL;
}

static int read_request(int argc, char **argv, struct request *request)
{
	char why[OPTIONS_WHY];
	int n_words, rc;

	rc = options_parse(specs, request, argc, argv, &n_words, why);
	if (rc == -ECANCELED && strcmp(why, "version") == 0)
		puts("pmstat " PM_VERSION);
	else if (rc == -ECANCELED) {
		puts("usage: pmstat [OPTION...]\n"
		     "Counters of the PM contexts that are open on this host: yours, or as root "
		     "all.\n");
		options_help(specs);
	}
	if (rc)
		return rc == -ECANCELED ? rc : usage(why);
	if (n_words == 1 && request->watch && !*request->watch)
		request->watch = argv[1];
	else if (n_words)
		return usage("there is nothing but options: --help lists them");
	request->seconds = 1;
	if (request->watch && *request->watch &&
	    options_read_seconds(request->watch, &request->seconds))
		return usage("--watch: write seconds as in 2 or 0.5");
	return 0;
}

/* A process has no context that we may see: why, and what to do. */
static int say_why_none(unsigned int pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &st))
		message_error("there is no process %u: pmstat without --pid lists those that have "
			      "a PM context",
			      pid);
	else if (geteuid() && st.st_uid != geteuid())
		message_error("process %u is of another user: that user and root see its PM "
			      "contexts, if it has any",
			      pid);
	else
		message_error("process %u has no PM context open: pmstat without --pid lists those "
			      "that have; of an MPI job the ranks, not mpirun",
			      pid);
	return -ESRCH;
}

static int say_none(const struct request *request)
{
	if (request->pid)
		return say_why_none((unsigned int)request->pid);
	if (!request->json)
		printf("no PM context %s on this host%s\n",
		       geteuid() ? "of yours is open" : "is open",
		       geteuid() ? " (root sees those of all users)" : "");
	fflush(stdout);
	return 0;
}

static int take(const struct request *request, struct sample *sample)
{
	int rc = sample_take(sample, (uint32_t)request->pid);

	if (rc)
		message_error("counters in /dev/shm: %s", strerror(-rc));
	if (sample->is_cut)
		message_error(
			"/dev/shm holds counters of more than %d contexts, of which the others are "
			"left out: --pid PID shows those of one process",
			SAMPLE_MAX);
	return rc;
}

static void show(const struct request *request, const struct sample *now,
		 const struct sample *before)
{
	if (request->json)
		show_json(now, before);
	else
		show_tables(now, before);
}

static int show_once(const struct request *request)
{
	struct sample sample = {.count = 0};
	int rc = take(request, &sample);

	if (!rc && !sample.count)
		rc = say_none(request);
	if (!rc && (sample.count || request->json))
		show(request, &sample, NULL);
	sample_free(&sample);
	return rc;
}

/* The time between two samples; a signal ends it early. */
static void pause_for(double seconds)
{
	struct timespec ts = {.tv_sec = (time_t)seconds};

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	ppoll(NULL, 0, &ts, NULL);
}

static int show_again(const struct request *request, struct sample *before, struct sample *now)
{
	int rc = take(request, now);

	if (rc)
		return rc;
	if (!request->json && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	if (!now->count)
		rc = say_none(request);
	if (!rc && (now->count || request->json))
		show(request, now, before);
	return rc;
}

static int watch(const struct request *request)
{
	struct sample samples[2] = {{.count = 0}, {.count = 0}};
	unsigned int turn = 0;
	int rc = take(request, &samples[0]);

	wait_catch_signals();
	while (!rc) {
		pause_for(request->seconds);
		if (wait_is_interrupted() || ferror(stdout))
			break;
		rc = show_again(request, &samples[turn], &samples[1 - turn]);
		turn = 1 - turn;
	}
	sample_free(&samples[0]);
	sample_free(&samples[1]);
	return rc;
}

int main(int argc, char **argv)
{
	struct request request = {.pid = 0};
	int rc = read_request(argc, argv, &request);

	if (rc == -ECANCELED)
		return MESSAGE_OK;
	if (rc)
		return MESSAGE_USAGE;
	rc = request.watch ? watch(&request) : show_once(&request);
	return rc ? MESSAGE_USAGE : MESSAGE_OK;
}
