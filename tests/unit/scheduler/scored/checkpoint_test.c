// SPDX-License-Identifier: BSD-3-Clause
/*
 * checkpoint: a job on two hosts and its user; what they are told is kept. The journal is real, in
 * memory.
 */
#include "scheduler/scored/checkpoint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/images.h"
#include "scheduler/scored/movers.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/users_connection.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define SERIAL 1000000000u /* of the request to stand still */
#define HOSTS 2

static struct {
	struct scored d;
	struct node nodes[HOSTS], other;
	struct sjob_host hosts[HOSTS];
	struct sjob job;
	struct order order;
	struct job what; /* was started */
	struct user user;
	char told[600]; /* the hosts and the user, one message after another */
} t;

struct sjob *jobs_find(const struct scored *d, uint64_t id)
{
	return id == t.job.id ? &t.job : NULL;
}

struct sjob_host *jobs_part_on(const struct sjob *job, const struct node *node)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (job->hosts[h].node == node)
			return &job->hosts[h];
	return NULL;
}

json_t *order_encode(const struct order *order, size_t here)
{
	return json_pack("{s:I}", "id", (json_int_t)order->id);
}

static char names[HOSTS][3] = {"n0", "n1"};

static void keep(const char *to, json_t *head)
{
	char *text = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);
	size_t used = strlen(t.told);

	snprintf(t.told + used, sizeof(t.told) - used, "%s %s\n", to, text);
	free(text);
	json_decref(head);
}

void nodes_send(struct node *node, json_t *head)
{
	keep(node->name, head);
}

/* Hosts of the job are the only ones that have written any. */
int images_remove(struct scored *d, const struct images_removal *removal, char *why,
		  size_t why_size)
{
	ok(removal->order == &t.order && !removal->is_whole);
	for (size_t h = 0; h < HOSTS; h++)
		nodes_send(t.job.hosts[h].node,
			   json_pack("{s:s, s:I, s:I, s:s}", "op", "image", "id",
				     (json_int_t)t.order.id, "round", (json_int_t)removal->round,
				     "stage", "remove"));
	return journal_checkpoints_forget(d->journal, t.order.id, why, why_size);
}

void users_say(const struct user *user, json_t *head)
{
	keep("user", head);
}

static void told(const char *want)
{
	is_str(t.told, want);
	t.told[0] = '\0';
}

static void open_all(void)
{
	char why[200];

	memset(&t, 0, sizeof(t));
	stillclock_ns = SERIAL;
	TAILQ_INIT(&t.d.placed);
	TAILQ_INSERT_TAIL(&t.d.placed, &t.job, placed);
	t.d.journal = journal_open(JOURNAL_NONE, why, sizeof(why));
	for (size_t h = 0; h < HOSTS; h++) {
		t.hosts[h].node = &t.nodes[h];
		t.nodes[h].name = names[h];
		t.nodes[h].link = (struct link *)&t;
	}
	t.job.id = t.order.id = 7;
	t.job.job = &t.what;
	t.job.order = &t.order;
	t.job.hosts = t.hosts;
	t.job.n_hosts = HOSTS;
	t.job.state = SJOB_RUNNING;
	t.what.wants_checkpoint = true;
	t.user.scored = &t.d;
}

static void close_all(void)
{
	journal_close(t.d.journal);
}

static void ask(struct user *user, const char *want)
{
	const char *error = NULL;
	char *text = checkpoint_ask(&t.d, user, &t.job, &error);

	is_str(text, want);
	free(text);
}

static void begin(struct user *user)
{
	ask(user, NULL);
	told("n0 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"prepare\"}\n"
	     "n1 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"prepare\"}\n");
}

static void tell(size_t host, uint64_t round, const char *stage, const char *text)
{
	json_t *head = json_pack("{s:i, s:I, s:s, s:i, s:s}", "id", 7, "round", (json_int_t)round,
				 "stage", stage, "bytes", 100, "text", text);

	checkpoint_told(&t.d, &t.nodes[host], head);
	json_decref(head);
}

static void stand(bool is_well)
{
	json_t *head = json_pack("{s:i, s:I, s:b, s:s, s:f}", "id", 7, "serial", (json_int_t)SERIAL,
				 "is_changed", is_well, "text", is_well ? "" : "a socket",
				 "stood_s", 0.5);

	ok(checkpoint_stood(&t.d, &t.nodes[0], head));
	json_decref(head);
}

static void both(uint64_t round, const char *stage)
{
	tell(0, round, stage, "");
	tell(1, round, stage, "");
}

static void dropped(const char *user_text)
{
	char want[600];

	snprintf(want, sizeof(want),
		 "n0 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"abandon\"}\n"
		 "n1 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"abandon\"}\n"
		 "user {\"error\":\"ECANCELED\",\"op\":\"error\",\"text\":\"%s\"}\n",
		 user_text);
	told(want);
	ok(!t.job.checkpoint && !t.job.mover && !t.user.moves);
	is_int(t.job.image.round, 0);
}

static void stand_still(void)
{
	begin(&t.user);
	both(1, "prepare");
	told("n0 {\"id\":7,\"op\":\"checkpoint\",\"serial\":1000000000}\n");
}

/* From the ranks' standstill to the end. */
static void write_down(uint64_t round, uint64_t keep_from)
{
	char want[400];

	both(round, "prepare");
	both(round, "dump");
	t.told[0] = '\0';
	stand(true);
	snprintf(want, sizeof(want),
		 "n0 {\"id\":7,\"keep\":%d,\"op\":\"image\",\"round\":%d,\"stage\":\"commit\"}\n"
		 "n1 {\"id\":7,\"keep\":%d,\"op\":\"image\",\"round\":%d,\"stage\":\"commit\"}\n",
		 (int)keep_from, (int)round, (int)keep_from, (int)round);
	told(want);
	both(round, "commit");
}

static void count(const struct journal_checkpoint *checkpoint, void *owner)
{
	*(uint64_t *)owner = *(uint64_t *)owner * 10 + checkpoint->round;
	is_int(checkpoint->bytes, 200);
	is_str(checkpoint->order, "{\"id\":7}");
}

static void recorded(uint64_t want)
{
	uint64_t got = 0;
	char why[200];

	is_int(journal_checkpoints(t.d.journal, 7, count, &got, why, sizeof(why)), 0);
	is_int(got, want);
}

TAP_TEST(checkpoint__goes_well)
{
	open_all();
	begin(&t.user);
	write_down(1, 1);
	told("user {\"bytes\":200,\"hosts\":2,\"op\":\"ok\",\"round\":1,\"stood_s\":0.5}\n");
	ok(!t.job.checkpoint && !t.job.mover && !t.user.moves);
	is_int(t.job.image.round, 1);
	recorded(1);
	close_all();
}

/* The last two are kept, and the one before stays until the new one is complete. */
TAP_TEST(checkpoint__again_and_again)
{
	open_all();
	ask(NULL, NULL);
	write_down(1, 1);
	ask(NULL, NULL);
	write_down(2, 1);
	recorded(21);
	ask(NULL, NULL);
	both(3, "prepare");
	tell(1, 3, "dump", "disk full");
	stand(false);
	ok(!t.job.checkpoint);
	is_int(t.job.image.round, 2);
	recorded(21);
	ask(NULL, NULL);
	write_down(4, 2);
	recorded(42);
	close_all();
}

TAP_TEST(checkpoint__a_host_can_not)
{
	open_all();
	begin(&t.user);
	tell(1, 1, "prepare", "no criu");
	dropped("no criu");
	recorded(0);
	close_all();
}

TAP_TEST(checkpoint__a_rank_can_not)
{
	open_all();
	stand_still();
	stand(false);
	dropped("a socket");
	close_all();
}

TAP_TEST(checkpoint__answers_of_others)
{
	open_all();
	stand_still();
	tell(0, 2, "dump", "of another round");
	checkpoint_told(&t.d, &t.other, json_object());
	told("");
	t.job.checkpoint = NULL;
	close_all();
}

TAP_TEST(checkpoint__the_job_ends)
{
	open_all();
	t.job.code = 1;
	stand_still();
	checkpoint_forget_job(&t.d, &t.job);
	dropped("the job has ended");
	checkpoint_forget_job(&t.d, &t.job);
	told("");
	close_all();
}

TAP_TEST(checkpoint__a_host_is_lost)
{
	open_all();
	begin(&t.user);
	checkpoint_forget_node(&t.d, &t.other);
	told("");
	checkpoint_forget_node(&t.d, &t.nodes[1]);
	dropped("the control link to host n1 was lost; try again when scinfo shows it as up");
	close_all();
}

/* Images are dropped when the ranks go on, not before. */
TAP_TEST(checkpoint__a_host_is_lost_while_they_stand)
{
	open_all();
	stand_still();
	checkpoint_forget_node(&t.d, &t.nodes[1]);
	told("");
	ok(t.job.checkpoint != NULL);
	stand(true);
	dropped("the control link to host n1 was lost; try again when scinfo shows it as up");
	close_all();
}

TAP_TEST(checkpoint__the_leader_is_lost_while_they_stand)
{
	open_all();
	stand_still();
	checkpoint_forget_node(&t.d, &t.nodes[0]);
	dropped("the control link to host n0 was lost; try again when scinfo shows it as up");
	close_all();
}

/* It goes on without him. */
TAP_TEST(checkpoint__the_user_goes)
{
	open_all();
	begin(&t.user);
	movers_forget_user(&t.user);
	ask(&t.user, "the ranks of job 7 stand still already, for another request; try again in a "
		     "moment");
	write_down(1, 1);
	told("");
	recorded(1);
	close_all();
}

TAP_TEST(checkpoint__jobs_that_can_not)
{
	open_all();
	t.nodes[1].link = NULL;
	ask(&t.user, "host n1 of job 7 is not connected now; try again when scinfo shows it as up");
	t.nodes[1].link = (struct link *)&t;
	t.what.wants_checkpoint = false;
	ask(&t.user, "job 7 was started without -checkpoint, so its processes have no numbers of "
		     "their own by which they could be restored; start it by scrun -checkpoint");
	told("");
	ok(!t.job.checkpoint && !t.job.mover);
	close_all();
}

/* No checkpoint was complete, but some hosts may have committed one. */
TAP_TEST(checkpoint_forget_job__images_of_some_hosts)
{
	open_all();
	checkpoint_forget_job(&t.d, &t.job);
	told("n0 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"remove\"}\n"
	     "n1 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"remove\"}\n");
	t.what.wants_checkpoint = false;
	checkpoint_forget_job(&t.d, &t.job);
	told("");
	close_all();
}

/* It went well, so nobody restarts it; else its images stay. */
TAP_TEST(checkpoint_forget_job__images)
{
	open_all();
	ask(NULL, NULL);
	write_down(1, 1);
	t.job.code = 1;
	checkpoint_forget_job(&t.d, &t.job);
	told("");
	recorded(1);
	t.job.code = 0;
	checkpoint_forget_job(&t.d, &t.job);
	told("n0 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"remove\"}\n"
	     "n1 {\"id\":7,\"op\":\"image\",\"round\":1,\"stage\":\"remove\"}\n");
	recorded(0);
	close_all();
}
