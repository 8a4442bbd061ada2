// SPDX-License-Identifier: BSD-3-Clause
/*
 * Hosts that are silent, and a scored that hears nobody for a while. The beats' time is ours; the
 * hosts are ends of socket pairs.
 */
#include "scheduler/scored/scnodeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/nodes.h"
#include "tests/harness/tap.h"

#define HOSTS 200 /* more than one round of the loop sees */
#define S 1000000000ull

struct world {
	struct scored d;
	int fds[HOSTS];
	uint64_t now_ns;
	uint64_t job; /* runs on h0 */
	char why[512];
};

static void say(int fd, json_t *head)
{
	size_t size;
	char *bytes = frame_encode(head, 0, &size);

	is_int(send(fd, bytes, size, MSG_NOSIGNAL), (long)size);
	free(bytes);
	json_decref(head);
}

static void turn(struct world *w)
{
	for (int i = 0; i < HOSTS; i++)
		ev_run(w->d.loop, EVRUN_NOWAIT);
}

static void arrive(struct world *w, int h)
{
	char name[16], text[] = "none", address[] = "10.0.0.1:7711";
	struct host host = {.name = name,
			    .address = address,
			    .version = text,
			    .kernel = text,
			    .cgroups = text,
			    .n_cores = 2,
			    .clock_ns = clock_realtime_ns(),
			    .pm = text};
	int pair[2];

	snprintf(name, sizeof(name), "h%d", h);
	if (!is_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0))
		return;
	w->fds[h] = pair[1];
	scnodeds_enter(&w->d, link_local(w->d.loop, pair[0], 0, NULL, NULL));
	say(pair[1],
	    json_pack("{s:s, s:o, s:[]}", "op", OP_REGISTER, "host", host_encode(&host), "jobs"));
}

static void beat(const struct world *w, int h)
{
	say(w->fds[h],
	    json_pack("{s:s, s:I, s:f, s:i, s:[]}", "op", OP_BEAT, "clock_ns",
		      (json_int_t)clock_realtime_ns(), "load", 0., "memory_free", 0, "jobs"));
}

static struct job *small_job(void)
{
	struct job *job = calloc(1, sizeof(*job));

	*job = (struct job){.name = strdup("prog"),
			    .cwd = strdup("/"),
			    .nodes = 1,
			    .per_node = 1,
			    .ranks = 1,
			    .cores = 1,
			    .stdin_rank = JOB_STDIN_NONE,
			    .env = calloc(1, sizeof(char *)),
			    .apps = calloc(1, sizeof(*job->apps)),
			    .n_apps = 1};
	job->apps[0].ranks = 1;
	job->apps[0].argv = calloc(2, sizeof(char *));
	job->apps[0].argv[0] = strdup("prog");
	job->apps[0].env = calloc(1, sizeof(char *));
	return job;
}

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sjob *job;

	w->d.loop = ev_default_loop(EVFLAG_AUTO);
	w->d.matrix = matrix_new(2);
	w->d.options.quantum_ns = SLOTS_QUANTUM_NS;
	w->d.options.user_jobs = 10;
	w->d.options.user_memory = 1 << 20;
	w->d.journal = journal_open("none", w->why, sizeof(w->why));
	w->now_ns = clock_monotonic_ns();
	awake_begin(&w->d.awake, w->now_ns, BEAT_S);
	ok(w->d.journal && !jobs_open(&w->d, w->why, sizeof(w->why)));
	for (int h = 0; h < HOSTS; h++)
		arrive(w, h);
	turn(w);
	job = jobs_submit(&w->d, NULL, 1000, 1000, small_job(), w->why, sizeof(w->why));
	turn(w);
	ok(job && job->n_hosts);
	w->job = job ? job->id : 0;
	return w;
}

static void end_world(struct world *w)
{
	jobs_close(&w->d);
	nodes_close(&w->d);
	turn(w);
	for (int h = 0; h < HOSTS; h++)
		close(w->fds[h]);
	journal_close(w->d.journal);
	matrix_free(w->d.matrix);
	free(w);
}

/* One beat of scored, so much later than the one before. */
static void beat_after(struct world *w, double s)
{
	w->now_ns += (uint64_t)(s * 1e9);
	awake_beat(&w->d.awake, w->now_ns);
	scnodeds_beat(&w->d, w->now_ns);
}

static int count_up(const struct world *w)
{
	int n = 0;

	for (size_t i = 0; i < w->d.n_nodes; i++)
		n += w->d.nodes[i]->link != NULL;
	return n;
}

static bool is_running(const struct world *w)
{
	const struct sjob *job = jobs_find(&w->d, w->job);

	return job && !job->is_ended;
}

TAP_TEST(scnodeds_beat__a_stall_of_ours_is_no_silence_of_theirs)
{
	static const double stalls_s[] = {3.5, 4.5, 9, 60, 3600};
	struct world *w = new_world();

	is_int(count_up(w), HOSTS);
	for (int i = 0; i < 5; i++) {
		beat_after(w, stalls_s[i]);
		is_int(count_up(w), HOSTS);
		ok(is_running(w));
		for (int h = 0; h < HOSTS; h++)
			beat(w, h);
		turn(w);
	}
	end_world(w);
}

TAP_TEST(scnodeds_beat__reads_what_waits_before_it_judges)
{
	struct world *w = new_world();

	for (int h = 0; h < HOSTS; h++)
		beat(w, h);
	for (int i = 0; i < 10; i++)
		beat_after(w, 1);
	is_int(count_up(w), HOSTS);
	ok(is_running(w));
	end_world(w);
}

TAP_TEST(scnodeds_beat__the_grace_time_begins_with_the_disconnect)
{
	struct world *w = new_world();
	int beats = 0;

	while (count_up(w) && beats < 10) {
		beat_after(w, 1);
		ok(is_running(w));
		beats++;
	}
	is_int(beats, 4);
	while (is_running(w) && beats < 20) {
		beat_after(w, 1);
		beats++;
	}
	is_int(beats, 7);
	end_world(w);
}

/* The sentence of the last "error" that a host was sent. */
static void error_of(int fd, char *to, size_t size)
{
	static char data[1 << 16];
	struct frame frame;
	size_t at = 0, used;
	ssize_t n = read(fd, data, sizeof(data));

	*to = 0;
	while (n > 0 && frame_decode(&frame, data + at, (size_t)n - at, FRAME_MAX, &used) == 1) {
		if (!strcmp(json_string_value(json_object_get(frame.head, "op")), OP_ERROR))
			snprintf(to, size, "%s",
				 json_string_value(json_object_get(frame.head, "text")));
		json_decref(frame.head);
		at += used;
	}
}

/* Host @h, on which the job does not run, is shown out with these words; its job's host is not. */
static void is_shown_out(struct world *w, int h, json_t *head, const char *why)
{
	char text[256];
	int before = count_up(w);

	say(w->fds[h], head);
	turn(w);
	is_int(count_up(w), before - 1);
	error_of(w->fds[h], text, sizeof(text));
	is_str(text, why);
	ok(is_running(w));
}

TAP_TEST(scnodeds__a_message_that_makes_no_sense_ends_the_link)
{
	struct world *w = new_world();

	is_shown_out(w, 5, json_pack("{s:s}", "op", OP_BEAT),
		     "beat: clock_ns must be a whole number from 0 to 9223372036854775807");
	is_shown_out(w, 6, json_pack("{s:s, s:i}", "op", OP_GONE, "id", 0),
		     "gone: id must be a whole number from 1 to 9223372036854775807");
	is_shown_out(w, 7, json_pack("{s:s, s:{}, s:[]}", "op", OP_REGISTER, "host", "jobs"),
		     "register: a second time");
	/* One that is not known is of a newer scnoded. */
	say(w->fds[8], json_pack("{s:s}", "op", "other"));
	turn(w);
	is_int(count_up(w), HOSTS - 3);
	end_world(w);
}
