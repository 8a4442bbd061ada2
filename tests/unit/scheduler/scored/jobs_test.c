// SPDX-License-Identifier: BSD-3-Clause
/* Jobs from queue to end, with hosts that are played here: one end of a socket pair each. */
#include "scheduler/scored/jobs.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/idle.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/nodes.h"
#include "tests/harness/setclock.h"
#include "tests/harness/tap.h"

#define HOSTS 2
#define CORES 2
#define LETTERS 32

/* Messages that a host was sent. The body of each is stored in its head, under the name "body". */
struct letters {
	int fd;
	json_t *heads[LETTERS];
	int n;
};

struct world {
	struct scored d;
	struct letters letters[HOSTS];
	char dir[64];
	char why[512];
};

static char *names[HOSTS];
static char address[] = "10.0.0.1:7711";

static void register_host(struct world *w, const char *name, struct letters *letters)
{
	struct node *node = nodes_make(&w->d, name);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return;
	letters->fd = pair[1];
	node->host = calloc(1, sizeof(*node->host));
	node->host->name = strdup(name);
	node->host->address = strdup(address);
	node->host->n_cores = CORES;
	node->link = link_local(w->d.loop, pair[0], 0, &(struct link_events){.message = NULL}, w);
	node->state = NODE_UP;
	node->heard = ev_now(w->d.loop);
	matrix_host(w->d.matrix, node->number, CORES);
}

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->dir, "/tmp/jobs-XXXXXX");
	w->d.loop = ev_default_loop(EVFLAG_AUTO);
	w->d.matrix = matrix_new(4);
	w->d.options.quantum_ns = SLOTS_QUANTUM_NS;
	w->d.journal = mkdtemp(w->dir) ? journal_open(w->dir, w->why, sizeof(w->why)) : NULL;
	LIST_INIT(&w->d.users);
	LIST_INIT(&w->d.accounts);
	w->d.options.user_jobs = 1000;
	w->d.options.user_memory = 64 << 20;
	if (!w->d.journal || jobs_open(&w->d, w->why, sizeof(w->why)))
		return NULL;
	for (int h = 0; h < HOSTS; h++) {
		char name[8];

		snprintf(name, sizeof(name), "h%d", h);
		names[h] = strdup(name);
		register_host(w, name, &w->letters[h]);
	}
	return w;
}

static void forget_letters(struct letters *l)
{
	while (l->n)
		json_decref(l->heads[--l->n]);
}

static void end_world(struct world *w)
{
	char command[128];

	jobs_close(&w->d);
	nodes_close(&w->d);
	ev_run(w->d.loop, EVRUN_NOWAIT);
	for (int h = 0; h < HOSTS; h++) {
		forget_letters(&w->letters[h]);
		close(w->letters[h].fd);
		free(names[h]);
	}
	journal_close(w->d.journal);
	matrix_free(w->d.matrix);
	snprintf(command, sizeof(command), "rm -r %s", w->dir);
	ok(!system(command));
	free(w);
}

/* Lets the loop do what is due, and takes what the hosts were sent. */
static void turn(struct world *w)
{
	static char data[1 << 20];

	for (int i = 0; i < 3; i++)
		ev_run(w->d.loop, EVRUN_NOWAIT);
	for (int h = 0; h < HOSTS; h++) {
		struct letters *l = &w->letters[h];
		ssize_t n = read(l->fd, data, sizeof(data));
		size_t at = 0, used;
		struct frame frame;

		while (n > 0 && l->n < LETTERS &&
		       frame_decode(&frame, data + at, (size_t)n - at, FRAME_MAX, &used) == 1) {
			json_object_set_new(frame.head, "body",
					    json_stringn(frame.body, frame.body_size));
			l->heads[l->n++] = frame.head;
			at += used;
		}
	}
}

/* How many messages of that kind a host got; the last of them in @ret. */
static int count(const struct world *w, int h, const char *op, json_t **ret)
{
	int n = 0;

	for (int i = 0; i < w->letters[h].n; i++)
		if (!strcmp(json_string_value(json_object_get(w->letters[h].heads[i], "op")), op)) {
			n++;
			if (ret)
				*ret = w->letters[h].heads[i];
		}
	return n;
}

/* The rows of a job in the last table that host h0 got, as hexadecimal text. */
static const char *rows_of(const struct world *w, uint64_t id)
{
	json_t *head = NULL;
	struct slots *slots;
	static char text[32];
	char why[128];

	strcpy(text, "none");
	if (!count(w, 0, OP_SLOTS, &head) ||
	    slots_decode(&slots, json_object_get(head, "table"), why, sizeof(why)))
		return text;
	for (size_t j = 0; j < slots->n_jobs; j++)
		if (slots->jobs[j].id == id)
			snprintf(text, sizeof(text), "%llx of %u",
				 (unsigned long long)slots->jobs[j].rows, slots->n_rows);
	slots_free(slots);
	return text;
}

static struct job *job_of(uint32_t nodes, uint32_t per_node)
{
	struct job *job = calloc(1, sizeof(*job));

	job->name = strdup("prog");
	job->cwd = strdup("/");
	job->nodes = nodes;
	job->per_node = per_node;
	job->ranks = nodes * per_node;
	job->cores = 1;
	job->umask = 022;
	job->stdin_rank = JOB_STDIN_NONE;
	job->env = calloc(1, sizeof(char *));
	job->apps = calloc(1, sizeof(*job->apps));
	job->n_apps = 1;
	job->apps[0].ranks = job->ranks;
	job->apps[0].argv = calloc(2, sizeof(char *));
	job->apps[0].argv[0] = strdup("prog");
	job->apps[0].env = calloc(1, sizeof(char *));
	return job;
}

static uint64_t submit(struct world *w, uint32_t nodes, uint32_t per_node)
{
	struct sjob *job = jobs_submit(&w->d, NULL, 1000, 1000, job_of(nodes, per_node), w->why,
				       sizeof(w->why));

	turn(w);
	return job ? job->id : 0;
}

static void all_started(struct world *w, uint64_t id)
{
	for (int h = 0; h < HOSTS; h++)
		jobs_started(&w->d, nodes_find(&w->d, names[h]), id);
}

static void all_gone(struct world *w, uint64_t id)
{
	for (int h = 0; h < HOSTS; h++)
		jobs_gone(&w->d, nodes_find(&w->d, names[h]), id, 1000);
	turn(w);
}

static int see_code(struct world *w, uint64_t id);

TAP_TEST(jobs__from_queue_to_journal)
{
	struct world *w = new_world();
	uint64_t id;

	must(w);
	id = submit(w, 2, 2);
	must(id);
	is_int(count(w, 0, OP_START, NULL), 1);
	is_int(count(w, 1, OP_START, NULL), 1);
	is_int(jobs_find(&w->d, id)->state, SJOB_STARTING);
	all_started(w, id);
	is_int(jobs_find(&w->d, id)->state, SJOB_RUNNING);
	is_str(rows_of(w, id), "1 of 1");
	jobs_ended(&w->d, nodes_find(&w->d, "h0"), id, 3, "rank 1 on h1 ended with code 3");
	is_int(jobs_find(&w->d, id)->state, SJOB_ENDING);
	all_gone(w, id);
	ok(!jobs_find(&w->d, id));
	is_int(see_code(w, id), 3);
	end_world(w);
}

TAP_TEST(jobs__a_table_comes_before_the_order)
{
	struct world *w = new_world();
	int slots = -1, start = -1;

	must(w);
	submit(w, 2, 2);
	forget_letters(&w->letters[0]);
	submit(w, 2, 2);
	for (int i = 0; i < w->letters[0].n; i++) {
		const char *op = json_string_value(json_object_get(w->letters[0].heads[i], "op"));

		slots = !strcmp(op, OP_SLOTS) ? i : slots;
		start = !strcmp(op, OP_START) ? i : start;
	}
	okf(slots >= 0 && slots < start, "slots %d, start %d", slots, start);
	end_world(w);
}

/* The order that a host was sent last. */
static struct order *order_of(const struct world *w, int h, const char **ret_text)
{
	json_t *head = NULL;
	struct order *order = NULL;
	char why[128];

	if (!count(w, h, OP_START, &head))
		return NULL;
	*ret_text = json_string_value(json_object_get(head, "body"));
	if (order_decode_text(&order, *ret_text, strlen(*ret_text), json_object_get(head, "here"),
			      why, sizeof(why)))
		return NULL;
	return order;
}

TAP_TEST(jobs__one_order_for_all_hosts)
{
	struct world *w = new_world();
	const char *text[HOSTS];
	uint64_t id;

	must(w);
	id = submit(w, 2, 2);
	for (int h = 0; h < HOSTS; h++) {
		struct order *order = order_of(w, h, &text[h]);

		must(order);
		is_int(order->id, id);
		is_int(order->here, h);
		is_str(order->hosts[h].name, names[h]);
		is_str(text[h], text[0]);
		order_free(order);
	}
	end_world(w);
}

/* Two that share all cores. */
static void start_two(struct world *w, uint64_t *one, uint64_t *two)
{
	*one = submit(w, 2, 2);
	*two = submit(w, 2, 2);
	all_started(w, *one);
	all_started(w, *two);
}

TAP_TEST(jobs__two_share_and_one_suspended_is_frozen)
{
	struct world *w = new_world();
	uint64_t one, two;

	must(w);
	start_two(w, &one, &two);
	is_int(matrix_rows(w->d.matrix), 2);
	is_int(matrix_rows_of(w->d.matrix, one) ^ matrix_rows_of(w->d.matrix, two), 3);
	jobs_suspend(&w->d, jobs_find(&w->d, one), true);
	turn(w);
	is_str(rows_of(w, one), "0 of 1");
	is_str(rows_of(w, two), "1 of 1");
	jobs_suspend(&w->d, jobs_find(&w->d, one), false);
	turn(w);
	is_int(matrix_rows_of(w->d.matrix, one) ^ matrix_rows_of(w->d.matrix, two), 3);
	end_world(w);
}

static void beat_all(struct world *w, uint64_t id, bool is_idle, bool is_stuck)
{
	for (int h = 0; h < HOSTS; h++)
		idle_beat(&w->d, nodes_find(&w->d, names[h]), id, 1000, is_idle, is_stuck);
	turn(w);
}

TAP_TEST(jobs__who_idles_gives_its_turns_away)
{
	struct world *w = new_world();
	uint64_t one, two;

	must(w);
	start_two(w, &one, &two);
	beat_all(w, one, true, false);
	is_str(rows_of(w, one), "1 of 1");
	is_str(rows_of(w, two), "1 of 1");
	beat_all(w, one, false, false);
	is_int(matrix_rows(w->d.matrix), 2);
	/* Idle on one host only is not idle. */
	idle_beat(&w->d, nodes_find(&w->d, "h0"), two, 1000, true, false);
	is_int(matrix_rows(w->d.matrix), 2);
	end_world(w);
}

TAP_TEST(jobs__who_waits_for_messages_is_parked)
{
	struct world *w = new_world();
	uint64_t one, two;

	must(w);
	start_two(w, &one, &two);
	/* The first beat of a host says nothing of the other one. */
	for (int i = 0; i < 4; i++)
		beat_all(w, one, false, true);
	is_str(rows_of(w, one), "0 of 1");
	is_str(rows_of(w, two), "1 of 1");
	/* Frozen it looks for nothing, which says nothing. */
	beat_all(w, one, true, false);
	is_str(rows_of(w, one), "0 of 1");
	jobs_find(&w->d, one)->parked_until = clock_monotonic_s();
	idle_tick(&w->d);
	turn(w);
	is_int(matrix_rows(w->d.matrix), 2);
	end_world(w);
}

TAP_TEST(jobs__a_parked_job_goes_on_though_the_clock_was_set)
{
	struct world *w = new_world();
	uint64_t one, two;

	must(w);
	start_two(w, &one, &two);
	for (int i = 0; i < 4; i++)
		beat_all(w, one, false, true);
	is_str(rows_of(w, one), "0 of 1");
	setclock_by_s = -86400;
	setclock_passed_s = 5;
	turn(w);
	idle_tick(&w->d);
	turn(w);
	is_int(matrix_rows(w->d.matrix), 2);
	setclock_by_s = setclock_passed_s = 0;
	end_world(w);
}

TAP_TEST(jobs__a_lost_host_ends_the_job_everywhere)
{
	struct world *w = new_world();
	json_t *stop = NULL;
	uint64_t id;

	must(w);
	id = submit(w, 2, 1);
	all_started(w, id);
	jobs_node_lost(&w->d, nodes_find(&w->d, "h1"), "it said nothing for 3 s");
	turn(w);
	is_int(count(w, 0, OP_STOP, &stop), 1);
	is_int(count(w, 1, OP_STOP, NULL), 0);
	ok(stop && strstr(json_string_value(json_object_get(stop, "text")), "host h1 is lost"));
	jobs_gone(&w->d, nodes_find(&w->d, "h0"), id, 0);
	ok(!jobs_find(&w->d, id));
	is_int(see_code(w, id), JOBS_EXIT_LOST);
	end_world(w);
}

TAP_TEST(jobs__the_first_end_counts)
{
	struct world *w = new_world();
	uint64_t id;

	must(w);
	id = submit(w, 2, 1);
	jobs_failed(&w->d, nodes_find(&w->d, "h1"), id, 127,
		    "prog, host h1: there is no such file");
	jobs_ended(&w->d, nodes_find(&w->d, "h0"), id, 0, "");
	/* Not from a host that has nothing to do with it, nor for a job that is not there. */
	jobs_ended(&w->d, nodes_find(&w->d, "h0"), id + 1, 0, "");
	all_gone(w, id);
	is_int(see_code(w, id), 127);
	end_world(w);
}

TAP_TEST(jobs__the_queue_moves_up)
{
	struct world *w = new_world();
	uint64_t ids[6];

	must(w);
	for (int i = 0; i < 6; i++)
		ids[i] = submit(w, 2, 2);
	/* The matrix has four rows. */
	is_int(jobs_find(&w->d, ids[3])->state, SJOB_STARTING);
	is_int(jobs_find(&w->d, ids[4])->state, SJOB_QUEUED);
	is_str(jobs_find(&w->d, ids[4])->waits, "waits for cores");
	jobs_end(&w->d, jobs_find(&w->d, ids[5]), 143, "cancelled");
	ok(!jobs_find(&w->d, ids[5]));
	jobs_ended(&w->d, nodes_find(&w->d, "h0"), ids[0], 0, "");
	all_gone(w, ids[0]);
	is_int(jobs_find(&w->d, ids[4])->state, SJOB_STARTING);
	end_world(w);
}

TAP_TEST(jobs__priority_is_for_operators)
{
	struct world *w = new_world();
	struct job *job;

	must(w);
	job = job_of(1, 1);
	job->priority = 1;
	ok(!jobs_submit(&w->d, NULL, 1000, 1000, job, w->why, sizeof(w->why)));
	okf(strstr(w->why, "operators"), "%s", w->why);
	ok(jobs_submit(&w->d, NULL, 0, 0, job, w->why, sizeof(w->why)));
	end_world(w);
}

/* scored is killed; the next one finds the job, its hosts say that they run it. */
TAP_TEST(jobs__restored_from_the_journal)
{
	struct world *w = new_world();
	struct sjob *job;
	json_t *running, *keep, *stop = NULL;
	uint64_t id;

	must(w);
	id = submit(w, 2, 2);
	all_started(w, id);
	jobs_close(&w->d);
	matrix_remove(w->d.matrix, id);
	is_int(jobs_open(&w->d, w->why, sizeof(w->why)), 0);
	job = jobs_find(&w->d, id);
	must(job);
	is_int(job->state, SJOB_RUNNING);
	ok(!job->place);
	/* Nobody takes its cores meanwhile. */
	running = json_pack("[{s:I, s:s}]", "id", (json_int_t)id, "state", "running");
	keep = jobs_node_back(&w->d, nodes_find(&w->d, "h0"), running);
	is_int(json_integer_value(json_array_get(keep, 0)), id);
	ok(job->place);
	is_int(matrix_rows_of(w->d.matrix, id), 1);
	json_decref(keep);
	/* The other host has it no more. */
	json_array_clear(running);
	keep = jobs_node_back(&w->d, nodes_find(&w->d, "h1"), running);
	is_int(json_array_size(keep), 0);
	is_int(job->state, SJOB_ENDING);
	turn(w);
	is_int(count(w, 0, OP_STOP, &stop), 1);
	ok(stop &&
	   strstr(json_string_value(json_object_get(stop, "text")), "host h1: its scnoded"));
	json_decref(keep);
	json_decref(running);
	jobs_gone(&w->d, nodes_find(&w->d, "h0"), id, 0);
	is_int(see_code(w, id), JOBS_EXIT_LOST);
	end_world(w);
}

static void write_checkpoint(struct world *w, const struct sjob *job)
{
	json_t *order = order_encode(job->order, 0);
	char *text = json_dumps(order, JSON_COMPACT);
	struct journal_checkpoint entry = {
		.job = job->id, .uid = job->uid, .taken = 1, .order = text};

	entry.round = journal_checkpoint_number(w->d.journal, job->id, w->why, sizeof(w->why));
	is_int(journal_checkpoint_done(w->d.journal, &entry, w->why, sizeof(w->why)), 0);
	free(text);
	json_decref(order);
}

/* It was lost, and waits until another one has left the cores. */
TAP_TEST(jobs__restored_when_there_is_a_place)
{
	struct restart_wish wish = {.uid = 1000, .waits = true};
	struct world *w = new_world();
	json_t *start = NULL;
	struct sjob *job;
	struct job *what;
	uint64_t other;

	must(w);
	wish.id = submit(w, 2, 2);
	all_started(w, wish.id);
	write_checkpoint(w, jobs_find(&w->d, wish.id));
	ok(!jobs_restart(&w->d, NULL, &wish, w->why, sizeof(w->why)));
	jobs_node_lost(&w->d, nodes_find(&w->d, "h1"), "it said nothing for 3 s");
	all_gone(w, wish.id);
	what = job_of(2, 2);
	what->class = JOB_EXCLUSIVE;
	job = jobs_submit(&w->d, NULL, 1000, 1000, what, w->why, sizeof(w->why));
	must(job);
	other = job->id;
	turn(w);
	job = jobs_restart(&w->d, NULL, &wish, w->why, sizeof(w->why));
	must(job);
	turn(w);
	is_int(job->state, SJOB_QUEUED);
	is_str(job->waits, "waits for cores");
	jobs_ended(&w->d, nodes_find(&w->d, "h0"), other, 0, "");
	all_gone(w, other);
	is_int(job->state, SJOB_STARTING);
	count(w, 1, OP_START, &start);
	must(start);
	is_int(json_integer_value(json_object_get(start, "id")), wish.id);
	is_int(json_integer_value(json_object_get(start, "round")), 1);
	jobs_end(&w->d, job, 143, "cancelled");
	all_gone(w, wish.id);
	/* One that is cancelled while it waits can be restored later. */
	wish.hosts = "h7";
	job = jobs_restart(&w->d, NULL, &wish, w->why, sizeof(w->why));
	must(job);
	jobs_end(&w->d, job, 143, "cancelled");
	wish.hosts = NULL;
	ok(jobs_restart(&w->d, NULL, &wish, w->why, sizeof(w->why)));
	end_world(w);
}

struct wanted {
	uint64_t id;
	int code;
};

static void look(const struct journal_job *job, void *owner)
{
	struct wanted *wanted = owner;

	if (job->id == wanted->id)
		wanted->code = job->code;
}

/* The code that the journal has for an ended job; -1 = it has no such job. */
static int see_code(struct world *w, uint64_t id)
{
	struct wanted wanted = {.id = id, .code = -1};

	journal_history(w->d.journal, 100, look, &wanted, w->why, sizeof(w->why));
	return wanted.code;
}
