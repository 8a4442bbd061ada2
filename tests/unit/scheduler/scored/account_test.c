// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define UID 4242
#define ROOT 0

struct world {
	struct scored d;
	char why[512];
};

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	w->d.loop = ev_default_loop(EVFLAG_AUTO);
	LIST_INIT(&w->d.accounts);
	LIST_INIT(&w->d.users);
	w->d.options.user_links = 2;
	w->d.options.user_jobs = 3;
	w->d.options.user_memory = 1 << 20;
	return w;
}

static struct job job_with(char **env)
{
	static char name[] = "prog", cwd[] = "/";

	return (struct job){.name = name, .cwd = cwd, .env = env};
}

TAP_TEST(account_of__one_for_each_user)
{
	struct world *w = new_world();
	struct account *a = account_of(&w->d, UID);

	must(a);
	ok(account_of(&w->d, UID) == a);
	ok(account_of(&w->d, ROOT) != a);
	account_settle(account_of(&w->d, ROOT));
	a->links = 1;
	account_settle(a);
	ok(LIST_FIRST(&w->d.accounts) == a);
	a->links = 0;
	account_settle(a);
	ok(LIST_EMPTY(&w->d.accounts));
	free(w);
}

TAP_TEST(account_has_links__all_users_together)
{
	struct world *w = new_world();
	struct account *a = account_of(&w->d, UID), *b = account_of(&w->d, UID + 1),
		       *root = account_of(&w->d, ROOT);

	w->d.options.all_links = 3;
	a->links = 2;
	root->links = 5;
	ok(!account_has_links(b, w->why, sizeof(w->why)));
	b->links = 1;
	ok(account_has_links(b, w->why, sizeof(w->why)));
	ok(strstr(w->why, "users have 3 connections") && strstr(w->why, "LimitNOFILE="));
	ok(!account_has_links(root, w->why, sizeof(w->why)));
	a->links = b->links = root->links = 0;
	account_settle(a);
	account_settle(b);
	account_settle(root);
	free(w);
}

TAP_TEST(account_has_links__limit_and_remedy)
{
	struct world *w = new_world();
	struct account *a = account_of(&w->d, UID), *root = account_of(&w->d, ROOT);

	a->links = 1;
	ok(!account_has_links(a, w->why, sizeof(w->why)));
	a->links = root->links = 2;
	ok(account_has_links(a, w->why, sizeof(w->why)));
	is_str(w->why, "user 4242 has 2 connections to scored already, as many as "
		       "--user-connections of scored allows; end some of your scruns");
	ok(!account_has_links(root, w->why, sizeof(w->why)));
	a->links = root->links = 0;
	account_settle(a);
	account_settle(root);
	free(w);
}

TAP_TEST(account_refuses__jobs_that_wait)
{
	struct world *w = new_world();
	char *env[] = {NULL};
	struct job job = job_with(env);
	struct sjob jobs[3];

	for (int i = 0; i < 3; i++) {
		jobs[i] = (struct sjob){.uid = UID, .job = &job};
		ok(!account_refuses(&w->d, UID, &job, w->why, sizeof(w->why)));
		account_charge(&w->d, &jobs[i]);
	}
	ok(account_refuses(&w->d, UID, &job, w->why, sizeof(w->why)));
	is_str(w->why, "user 4242 has 3 jobs waiting, as many as --user-jobs of scored allows; "
		       "submit more when some have started, or take some out with scancel");
	ok(!account_refuses(&w->d, UID + 1, &job, w->why, sizeof(w->why)));
	account_unqueue(&jobs[0]);
	ok(!account_refuses(&w->d, UID, &job, w->why, sizeof(w->why)));
	account_unqueue(&jobs[1]);
	account_unqueue(&jobs[2]);
	for (int i = 0; i < 3; i++)
		account_discharge(&jobs[i]);
	ok(LIST_EMPTY(&w->d.accounts));
	free(w);
}

TAP_TEST(account_refuses__memory)
{
	struct world *w = new_world();
	char *large = malloc((1 << 19) + 1), *env[] = {large, NULL};
	struct job job = job_with(env);
	struct sjob first = {.uid = UID, .job = &job};

	memset(large, 'x', 1 << 19);
	large[1 << 19] = 0;
	ok(!account_refuses(&w->d, UID, &job, w->why, sizeof(w->why)));
	account_charge(&w->d, &first);
	ok(account_refuses(&w->d, UID, &job, w->why, sizeof(w->why)));
	okf(strstr(w->why, "--user-memory of scored") != NULL, "%s", w->why);
	account_unqueue(&first);
	account_discharge(&first);
	ok(LIST_EMPTY(&w->d.accounts));
	free(large);
	free(w);
}

/* Half of the loop is others'. */
TAP_TEST(account_spend__rests_as_long_as_it_took)
{
	struct world *w = new_world();
	struct account *a = account_of(&w->d, UID);

	a->links = 1;
	account_spend(a, ACCOUNT_TURN_NS / 2);
	ok(!a->is_resting);
	account_spend(a, ACCOUNT_TURN_NS * 2);
	ok(a->is_resting);
	okf(ev_timer_remaining(w->d.loop, &a->rest) > 0.012, "%g s",
	    ev_timer_remaining(w->d.loop, &a->rest));
	ev_run(w->d.loop, EVRUN_ONCE);
	ok(!a->is_resting);
	a->links = 0;
	account_settle(a);
	free(w);
}
