// SPDX-License-Identifier: BSD-3-Clause
/* query: questions about the job, job control, and lines for the log. */
#include <signal.h>

#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static struct {
	struct rank ranks[2];
	pmix_data_type_t type; /* of the first answer */
	char key[64], hosts[64], programs[64];
	int n_answers;
	int pids, states; /* a bit for each that has ended */
	int n_aborts;
} t;

size_t ranks_count(const struct ranks *ranks)
{
	return 2;
}

struct rank *ranks_at(const struct ranks *ranks, size_t i)
{
	return &t.ranks[i];
}

void step_abort(struct step *step, uint32_t world, uint32_t rank, int code, const char *text)
{
	t.n_aborts++;
	is_int(rank, 1);
}

static void take_table(const pmix_data_array_t *array)
{
	const pmix_proc_info_t *table = array->array;

	is_int(array->type, PMIX_PROC_INFO);
	for (size_t i = 0; i < array->size; i++) {
		snprintf(t.hosts + strlen(t.hosts), 16, "%s ",
			 table[i].hostname ? table[i].hostname : "-");
		snprintf(t.programs + strlen(t.programs), 32, "%u:%s ", table[i].proc.rank,
			 table[i].executable_name ? table[i].executable_name : "-");
		t.pids += table[i].pid;
		t.states |= (table[i].state == PMIX_PROC_STATE_TERMINATED) << i;
	}
}

static void told(pmix_status_t status, pmix_info_t infos[], size_t n, void *arg,
		 pmix_release_cbfunc_t release, void *release_arg)
{
	pmix_done(status, arg);
	t.n_answers = (int)n;
	t.pids = t.states = 0;
	t.key[0] = t.hosts[0] = t.programs[0] = pmix.text[0] = 0;
	if (n) {
		snprintf(t.key, sizeof(t.key), "%s", infos[0].key);
		if (infos[0].value.type == PMIX_STRING)
			snprintf(pmix.text, sizeof(pmix.text), "%s", infos[0].value.data.string);
		else if (ok(infos[0].value.type == PMIX_DATA_ARRAY))
			take_table(infos[0].value.data.darray);
	}
	if (release)
		release(release_arg);
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	pmix_open(2, 2);
	for (int i = 0; i < 2; i++)
		t.ranks[i] = (struct rank){.world = worlds_get(&fake.step.worlds, 0),
					   .number = (uint32_t)i,
					   .path = (char *)(uintptr_t) "/prog",
					   .pid = 100 + i,
					   .has_ended = i == 1};
}

static pmix_status_t query(const char *key, pmix_info_t *qualifier)
{
	pmix_proc_t proc = pmix_proc(1);
	char *keys[] = {(char *)(uintptr_t)key, NULL};
	pmix_query_t one = {.keys = keys, .qualifiers = qualifier, .nqual = qualifier ? 1 : 0};
	pmix_status_t status;

	/* As 4.2 asks: in the server's name. */
	snprintf(proc.nspace + strlen(proc.nspace), 8, ":step");
	status = query_upcall(&proc, &one, 1, told, &pmix);
	fake_turn();
	return status;
}

TAP_TEST(query__namespaces)
{
	begin();
	is_int(query(PMIX_QUERY_NAMESPACES, NULL), PMIX_SUCCESS);
	is_done(1, PMIX_SUCCESS);
	is_str(t.key, PMIX_QUERY_NAMESPACES);
	is_str(pmix.text, worlds_get(&fake.step.worlds, 0)->nspace);
	pmix_close();
}

TAP_TEST(query__ranks_of_this_host)
{
	begin();
	is_int(query(PMIX_QUERY_LOCAL_PROC_TABLE, NULL), PMIX_SUCCESS);
	is_done(1, PMIX_SUCCESS);
	is_str(t.hosts, "host host ");
	is_str(t.programs, "0:/prog 1:/prog ");
	is_int(t.pids, 201);
	/* One runs, the other has ended. */
	is_int(t.states, 1 << 1);
	pmix_close();
}

TAP_TEST(query__something_that_nobody_knows)
{
	begin();
	is_int(query("no.such.key", NULL), PMIX_ERR_NOT_SUPPORTED);
	is_int(pmix.n_done, 0);
	shift_close();
	is_int(query(PMIX_QUERY_NAMESPACES, NULL), PMIX_ERR_NOT_SUPPORTED);
	pmix_close();
}

/* The ticket of the question to the root, which is about @nspace. */
static json_int_t asked(const char *nspace)
{
	json_int_t ticket;

	if (!ok(fake.first != NULL))
		return 0;
	is_str(json_string_value(json_object_get(fake.first->head, "op")), OP_QUERY);
	is_str(json_string_value(json_object_get(fake.first->head, "nspace")), nspace);
	ticket = json_integer_value(json_object_get(fake.first->head, "ticket"));
	fake_drop();
	return ticket;
}

static void answer(json_int_t ticket, pmix_status_t status, const char *body)
{
	json_t *head = json_pack("{s:I, s:i}", "ticket", ticket, "status", status);

	ask_answered(&fake.step, head, body, strlen(body));
	json_decref(head);
}

TAP_TEST(query__all_ranks_are_asked_of_the_root)
{
	begin();
	is_int(query(PMIX_QUERY_PROC_TABLE, NULL), PMIX_SUCCESS);
	is_int(pmix.n_done, 0);
	answer(asked(worlds_get(&fake.step.worlds, 0)->nspace), PMIX_SUCCESS,
	       "[{\"host\":1,\"rank\":3,\"pid\":7,\"executable\":\"/a\"},"
	       "{\"host\":2,\"rank\":1,\"pid\":1},{\"host\":-1}]");
	is_done(1, PMIX_SUCCESS);
	is_str(t.key, PMIX_QUERY_PROC_TABLE);
	/* A host that the order does not have is none. */
	is_str(t.hosts, "host - - ");
	is_str(t.programs, "3:/a 1:- 0:- ");
	is_int(t.pids, 8);
	pmix_close();
}

TAP_TEST(query__of_another_namespace)
{
	pmix_info_t nspace, wrong;

	begin();
	pmix_text_info(&nspace, PMIX_NSPACE, "other");
	is_int(query(PMIX_QUERY_PROC_TABLE, &nspace), PMIX_SUCCESS);
	answer(asked("other"), PMIX_ERR_NOT_FOUND, "");
	is_done(1, PMIX_ERR_NOT_FOUND);
	pmix_int_info(&wrong, PMIX_NSPACE, 7);
	is_int(query(PMIX_QUERY_PROC_TABLE, &wrong), PMIX_SUCCESS);
	/* An answer that is no JSON. */
	answer(asked(worlds_get(&fake.step.worlds, 0)->nspace), PMIX_SUCCESS, "[{");
	is_done(2, PMIX_ERR_NOT_FOUND);
	is_int(t.n_answers, 0);
	free(nspace.value.data.string);
	pmix_close();
}

/* ---- job control ---- */

static pmix_status_t control(const pmix_info_t *info)
{
	pmix_proc_t proc = pmix_proc(1);
	pmix_status_t status = job_control_upcall(&proc, NULL, 0, info, 1, told, &pmix);

	fake_turn();
	return status;
}

TAP_TEST(job_control__a_signal)
{
	pmix_info_t info;

	begin();
	pmix_int_info(&info, PMIX_JOB_CTRL_SIGNAL, SIGUSR1);
	is_int(control(&info), PMIX_SUCCESS);
	fake_sent(0, "{\"op\":\"signal\",\"signal\":10}", "");
	is_done(1, PMIX_SUCCESS);
	info.value.data.integer = NSIG - 1;
	is_int(control(&info), PMIX_SUCCESS);
	fake_drop();
	info.value.data.integer = NSIG;
	is_int(control(&info), PMIX_ERR_BAD_PARAM);
	info.value.data.integer = 0;
	is_int(control(&info), PMIX_ERR_BAD_PARAM);
	info.value.data.integer = -9;
	is_int(control(&info), PMIX_ERR_BAD_PARAM);
	info.value.type = PMIX_UINT32;
	info.value.data.integer = SIGUSR1;
	is_int(control(&info), PMIX_ERR_BAD_PARAM);
	is_int(pmix.n_done, 2);
	is_int(t.n_aborts, 0);
	pmix_close();
}

TAP_TEST(job_control__the_end_of_the_job)
{
	pmix_info_t info;

	begin();
	pmix_int_info(&info, PMIX_JOB_CTRL_KILL, 1);
	is_int(control(&info), PMIX_SUCCESS);
	is_int(t.n_aborts, 1);
	pmix_int_info(&info, PMIX_JOB_CTRL_TERMINATE, 1);
	is_int(control(&info), PMIX_SUCCESS);
	is_int(t.n_aborts, 2);
	ok(!fake.first);
	pmix_close();
}

TAP_TEST(job_control__what_pmix_does_itself)
{
	pmix_info_t info;

	begin();
	pmix_int_info(&info, PMIX_REGISTER_CLEANUP, 1);
	is_int(control(&info), PMIX_OPERATION_SUCCEEDED);
	pmix_int_info(&info, PMIX_REGISTER_CLEANUP_DIR, 1);
	is_int(control(&info), PMIX_OPERATION_SUCCEEDED);
	pmix_int_info(&info, "no.such.key", 1);
	is_int(control(&info), PMIX_ERR_NOT_SUPPORTED);
	is_int(pmix.n_done, 0);
	pmix_close();
}

TAP_TEST(log__lines_for_standard_error)
{
	pmix_info_t info;

	begin();
	pmix_text_info(&info, PMIX_LOG_STDERR, "hear");
	log_upcall(NULL, &info, 1, NULL, 0, pmix_done, &pmix);
	fake_turn();
	fake_sent(0, "{\"op\":\"note\",\"text\":\"hear\"}", "");
	is_done(1, PMIX_SUCCESS);
	PMIX_LOAD_KEY(info.key, PMIX_LOG_STDOUT);
	log_upcall(NULL, &info, 1, NULL, 0, pmix_done, &pmix);
	fake_turn();
	fake_sent(0, "{\"op\":\"note\",\"text\":\"hear\"}", "");
	free(info.value.data.string);
	/* Neither a text nor one of these keys. */
	pmix_int_info(&info, PMIX_LOG_STDERR, 7);
	log_upcall(NULL, &info, 1, NULL, 0, pmix_done, &pmix);
	fake_turn();
	is_done(3, PMIX_ERR_NOT_SUPPORTED);
	log_upcall(NULL, NULL, 0, NULL, 0, pmix_done, &pmix);
	fake_turn();
	is_done(4, PMIX_ERR_NOT_SUPPORTED);
	ok(!fake.first);
	pmix_close();
}
