// SPDX-License-Identifier: BSD-3-Clause
/* migrate: a job on one host and its user; what they are told is kept. */
#include "scheduler/scored/migrate.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/movers.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/users_connection.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define FIRST 1000000000u /* request of began() */

static struct {
	struct scored d;
	struct node node, other;
	struct sjob_host host;
	struct sjob job;
	struct job what; /* was started */
	struct user user, second;
	char told[400]; /* the hosts and the users, one message after another */
} t;

struct sjob *jobs_find(const struct scored *d, uint64_t id)
{
	return id == t.job.id ? &t.job : NULL;
}

static char name[] = "n0";

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
	keep(node == &t.node ? "host" : "another host", head);
}

void users_say(const struct user *user, json_t *head)
{
	keep(user == &t.user ? "user" : "another user", head);
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	stillclock_ns = FIRST;
	TAILQ_INIT(&t.d.placed);
	TAILQ_INSERT_TAIL(&t.d.placed, &t.job, placed);
	t.host.node = &t.node;
	t.job.id = 7;
	t.job.job = &t.what;
	t.job.hosts = &t.host;
	t.job.n_hosts = 1;
	t.job.state = SJOB_RUNNING;
	t.node.name = name;
	t.node.link = (struct link *)&t;
	t.user.scored = t.second.scored = &t.d;
}

static void asks(struct user *user, const char *network, const char *want_error,
		 const char *want_text)
{
	const char *error = NULL;
	char *text = migrate_ask(user, &t.job, network, &error);

	is_str(text, want_text);
	if (text)
		is_str(error, want_error);
	free(text);
}

static void tries(struct user *user, const char *want_error, const char *want_text)
{
	const char *error = NULL;
	char *text = migrate_try(user, &t.job, &error);

	is_str(text, want_text);
	if (text)
		is_str(error, want_error);
	free(text);
}

static void told(const char *want)
{
	is_str(t.told, want);
	t.told[0] = '\0';
}

static void began(void)
{
	begin();
	asks(&t.user, "self+udp", NULL, NULL);
	told("host {\"devices\":\"self+udp\",\"id\":7,\"op\":\"migrate\",\"serial\":1000000000}\n");
}

TAP_TEST(migrate__the_user_gets_the_answer)
{
	began();
	migrate_over(&t.d, &t.other, 7, FIRST, true, "", 0.5);
	migrate_over(&t.d, &t.node, 8, FIRST, true, "", 0.5);
	told("");
	migrate_over(&t.d, &t.node, 7, FIRST, true, "", 0.5);
	told("user {\"op\":\"ok\",\"stood_s\":0.5}\n");
	migrate_over(&t.d, &t.node, 7, FIRST, true, "", 0.5);
	told("");
	/* A late answer to the request before is none to this one. */
	stillclock_ns++;
	asks(&t.user, "udp", NULL, NULL);
	told("host {\"devices\":\"udp\",\"id\":7,\"op\":\"migrate\",\"serial\":1000000001}\n");
	migrate_over(&t.d, &t.node, 7, FIRST, true, "", 0.5);
	told("");
	migrate_over(&t.d, &t.node, 7, FIRST + 1, false, "rank 1 can't", 0);
	told("user {\"error\":\"ECANCELED\",\"op\":\"error\",\"text\":\"rank 1 can't\"}\n");
}

TAP_TEST(migrate__one_at_a_time)
{
	began();
	asks(&t.second, "udp", "EBUSY",
	     "the ranks of job 7 stand still already, for another request; try again in a moment");
	asks(&t.user, "udp", "EBUSY", "this connection waits for job 7 already");
	told("");
}

TAP_TEST(migrate__jobs_that_can_not)
{
	begin();
	t.job.state = SJOB_QUEUED;
	asks(&t.user, "udp", "EINVAL", "job 7 does not run");
	t.job.state = SJOB_RUNNING;
	t.job.is_suspended = true;
	asks(&t.user, "udp", "EINVAL",
	     "job 7 is suspended, so its ranks can't do anything; resume it first, by SIGCONT to "
	     "its scrun");
	t.job.is_suspended = false;
	t.node.link = NULL;
	asks(&t.user, "udp", "EINVAL",
	     "host n0, the first one of job 7, is not connected now; try again when scinfo shows "
	     "it "
	     "as up");
	t.node.link = (struct link *)&t;
	asks(&t.user, "token-ring", "EINVAL",
	     "network token-ring: this scored has no cluster.json (--config) that names networks, "
	     "and it is no device of PM: self, shmem, verbs, ethernet, udp");
	told("");
}

TAP_TEST(migrate__the_user_goes)
{
	began();
	movers_forget_user(&t.user);
	ok(!t.job.mover);
	migrate_over(&t.d, &t.node, 7, FIRST, true, "", 0.5);
	told("");
	movers_forget_user(&t.user);
}

TAP_TEST(migrate__the_job_ends)
{
	began();
	migrate_forget_job(&t.job);
	told("user {\"error\":\"ESRCH\",\"op\":\"error\",\"text\":\"the job has ended\"}\n");
	ok(!t.user.moves);
	migrate_forget_job(&t.job);
	told("");
}

TAP_TEST(migrate__the_first_host_is_lost)
{
	began();
	migrate_forget_node(&t.d, &t.other);
	told("");
	migrate_forget_node(&t.d, &t.node);
	ok(strstr(t.told, "user {\"error\":\"ECONNRESET\"") == t.told);
	ok(!t.user.moves && !t.job.mover);
}

/* ---- whether it can be written to disk ---- */

static void began_to_try(void)
{
	begin();
	t.what.wants_checkpoint = true;
	tries(&t.user, NULL, NULL);
	told("host {\"id\":7,\"op\":\"checkpoint\",\"serial\":1000000000}\n");
	ok(t.job.mover == &t.user && t.user.moves == &t.job);
}

TAP_TEST(migrate_try__the_user_gets_the_answer)
{
	began_to_try();
	migrate_over(&t.d, &t.node, 7, FIRST, true, "", 0.25);
	told("user {\"op\":\"ok\",\"stood_s\":0.25}\n");
	ok(!t.job.mover && !t.user.moves);
	stillclock_ns++;
	tries(&t.user, NULL, NULL);
	told("host {\"id\":7,\"op\":\"checkpoint\",\"serial\":1000000001}\n");
	migrate_over(&t.d, &t.node, 7, FIRST + 1, false, "rank 1 holds a socket", 0);
	told("user {\"error\":\"ECANCELED\",\"op\":\"error\",\"text\":\"rank 1 holds a "
	     "socket\"}\n");
}

TAP_TEST(migrate_try__a_job_without_checkpoint)
{
	begin();
	tries(&t.user, "EINVAL",
	      "job 7 was started without -checkpoint, so its processes have no numbers of their "
	      "own "
	      "by which they could be restored; start it by scrun -checkpoint");
	told("");
	ok(!t.job.mover && !t.user.moves);
	/* Its devices it may change. */
	asks(&t.user, "udp", NULL, NULL);
	told("host {\"devices\":\"udp\",\"id\":7,\"op\":\"migrate\",\"serial\":1000000000}\n");
}

TAP_TEST(migrate_try__jobs_that_can_not_now)
{
	began_to_try();
	tries(&t.second, "EBUSY",
	      "the ranks of job 7 stand still already, for another request; try again in a moment");
	asks(&t.second, "udp", "EBUSY",
	     "the ranks of job 7 stand still already, for another request; try again in a moment");
	tries(&t.user, "EBUSY", "this connection waits for job 7 already");
	begin();
	t.what.wants_checkpoint = true;
	t.job.state = SJOB_QUEUED;
	tries(&t.user, "EINVAL", "job 7 does not run");
	told("");
}

/* Nothing was changed, so nothing is doubtful. */
TAP_TEST(migrate_try__the_first_host_is_lost)
{
	began_to_try();
	migrate_forget_node(&t.d, &t.node);
	told("user {\"error\":\"ECONNRESET\",\"op\":\"error\",\"text\":\"the control link to the "
	     "job's first host was lost; try again when scinfo shows the host as up\"}\n");
	ok(!t.user.moves && !t.job.mover);
	/* A change of devices after it is one. */
	asks(&t.user, "udp", NULL, NULL);
	t.told[0] = '\0';
	migrate_forget_node(&t.d, &t.node);
	ok(strstr(t.told, "whether the job has changed its devices") != NULL);
}
