// SPDX-License-Identifier: BSD-3-Clause
/* spawn: a rank's call for more processes, in the words that world_plan() takes, and its answer. */
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static char *text_of(const char *from)
{
	return (char *)(uintptr_t)from;
}

static void done(pmix_status_t status, char *nspace, void *arg)
{
	pmix_done(status, arg);
	snprintf(pmix.text, sizeof(pmix.text), "%s", nspace);
}

/* The programs, as sorted JSON, of the question that is sent; forgets all of it but its ticket. */
static json_int_t asked(const char *want)
{
	json_int_t ticket;
	char *text;

	fake_turn();
	if (!ok(fake.first != NULL))
		return 0;
	is_int(fake.first->to, 0);
	is_str(json_string_value(json_object_get(fake.first->head, "op")), OP_SPAWN);
	is_int(json_integer_value(json_object_get(fake.first->head, "rank")), 1);
	text = json_dumps(json_object_get(fake.first->head, "apps"), JSON_COMPACT | JSON_SORT_KEYS);
	is_str(text, want);
	free(text);
	ticket = json_integer_value(json_object_get(fake.first->head, "ticket"));
	fake_drop();
	return ticket;
}

static void spawn(const pmix_info_t *job, size_t n_job, const pmix_app_t *apps, size_t n)
{
	pmix_proc_t from = pmix_proc(1);

	is_int(spawn_upcall(&from, job, n_job, apps, n, done, &pmix), PMIX_SUCCESS);
}

TAP_TEST(spawn__programs_and_their_words)
{
	char *argv[] = {text_of("other"), text_of("-x"), NULL}, *env[] = {text_of("A=1"), NULL};
	pmix_app_t apps[3] = {
		{.cmd = text_of("prog"),
		 .argv = argv,
		 .env = env,
		 .cwd = text_of("/tmp"),
		 .maxprocs = 2},
		{.cmd = text_of("alone"), .maxprocs = 1},
		{.argv = argv, .maxprocs = 3},
	};

	pmix_open(1, 2);
	spawn(NULL, 0, apps, 3);
	asked("[{\"argv\":[\"prog\",\"-x\"],\"cwd\":\"/tmp\",\"env\":[\"A=1\"],\"ranks\":2},"
	      "{\"argv\":[\"alone\"],\"env\":[],\"ranks\":1},"
	      "{\"argv\":[\"other\",\"-x\"],\"env\":[],\"ranks\":3}]");
	pmix_close();
}

TAP_TEST(spawn__which_directory_counts)
{
	pmix_info_t job, own, wrong;
	pmix_app_t apps[4] = {
		{.cmd = text_of("a"), .cwd = text_of("/cwd"), .info = &own, .ninfo = 1},
		{.cmd = text_of("b"), .cwd = text_of("/cwd")},
		{.cmd = text_of("c")},
		{.cmd = text_of("d"), .info = &wrong, .ninfo = 1},
	};

	pmix_open(1, 2);
	pmix_text_info(&job, PMIX_WDIR, "/job");
	pmix_text_info(&own, PMIX_WDIR, "/own");
	pmix_int_info(&wrong, PMIX_WDIR, 7);
	spawn(&job, 1, apps, 4);
	asked("[{\"argv\":[\"a\"],\"cwd\":\"/own\",\"env\":[],\"ranks\":0},"
	      "{\"argv\":[\"b\"],\"cwd\":\"/cwd\",\"env\":[],\"ranks\":0},"
	      "{\"argv\":[\"c\"],\"cwd\":\"/job\",\"env\":[],\"ranks\":0},"
	      "{\"argv\":[\"d\"],\"cwd\":\"/job\",\"env\":[],\"ranks\":0}]");
	free(job.value.data.string);
	free(own.value.data.string);
	pmix_close();
}

static void answer(json_int_t ticket, pmix_status_t status, const char *body, size_t size)
{
	json_t *head = json_pack("{s:I, s:i}", "ticket", ticket, "status", status);

	ask_answered(&fake.step, head, body, size);
	json_decref(head);
}

TAP_TEST(spawn__the_name_of_the_new_world)
{
	pmix_app_t app = {.cmd = text_of("a"), .maxprocs = 1};
	char longest[PMIX_MAX_NSLEN + 2];

	memset(longest, 'n', sizeof(longest));
	pmix_open(1, 2);
	spawn(NULL, 0, &app, 1);
	answer(asked("[{\"argv\":[\"a\"],\"env\":[],\"ranks\":1}]"), PMIX_SUCCESS, "1234", 4);
	is_done(1, PMIX_SUCCESS);
	is_str(pmix.text, "1234");
	spawn(NULL, 0, &app, 1);
	answer(asked("[{\"argv\":[\"a\"],\"env\":[],\"ranks\":1}]"), PMIX_SUCCESS, longest,
	       PMIX_MAX_NSLEN);
	is_int(strlen(pmix.text), PMIX_MAX_NSLEN);
	/* A name that PMIx has no room for is none. */
	spawn(NULL, 0, &app, 1);
	answer(asked("[{\"argv\":[\"a\"],\"env\":[],\"ranks\":1}]"), PMIX_SUCCESS, longest,
	       PMIX_MAX_NSLEN + 1);
	is_str(pmix.text, "");
	spawn(NULL, 0, &app, 1);
	answer(asked("[{\"argv\":[\"a\"],\"env\":[],\"ranks\":1}]"), PMIX_ERR_OUT_OF_RESOURCE, NULL,
	       0);
	is_done(4, PMIX_ERR_OUT_OF_RESOURCE);
	pmix_close();
}
