// SPDX-License-Identifier: BSD-3-Clause
/* event: the lives of ranks as PMIx tells them, and events on their way to the root and from it. */
#include "scheduler/scstepd/absence.h"
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static struct {
	struct rank rank;
	int n_checked;
	int n_aborts;
	uint32_t aborted;
	int code;
	char text[1100];
} t;

struct rank *ranks_get(const struct ranks *ranks, const struct world *world, uint32_t number)
{
	return number == t.rank.number ? &t.rank : NULL;
}

void absence_check(struct step *step, const struct world *world)
{
	t.n_checked++;
}

void step_abort(struct step *step, uint32_t world, uint32_t rank, int code, const char *text)
{
	t.n_aborts++;
	t.aborted = rank;
	t.code = code;
	snprintf(t.text, sizeof(t.text), "%s", text);
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	t.rank.number = 1;
	pmix_open(2, 2);
}

TAP_TEST(connected__and_finalized)
{
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(1);
	is_int(connected_upcall(&proc, NULL, NULL, 0, pmix_done, &pmix), PMIX_OPERATION_SUCCEEDED);
	ok(!t.rank.is_in_mpi);
	fake_turn();
	ok(t.rank.is_in_mpi && t.rank.has_come);
	is_int(t.n_checked, 1);
	/* The result of the call was the answer. */
	is_int(pmix.n_done, 0);
	is_int(finalized_upcall(&proc, NULL, pmix_done, &pmix), PMIX_SUCCESS);
	fake_turn();
	ok(!t.rank.is_in_mpi && t.rank.has_come);
	is_done(1, PMIX_SUCCESS);
	pmix_close();
}

TAP_TEST(connected__of_no_rank_of_ours)
{
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(0);
	is_int(connected_upcall(&proc, NULL, NULL, 0, NULL, NULL), PMIX_OPERATION_SUCCEEDED);
	proc = pmix_proc(PMIX_RANK_WILDCARD);
	is_int(connected_upcall(&proc, NULL, NULL, 0, NULL, NULL), PMIX_OPERATION_SUCCEEDED);
	PMIX_LOAD_PROCID(&proc, "another", 1);
	is_int(connected_upcall(&proc, NULL, NULL, 0, NULL, NULL), PMIX_OPERATION_SUCCEEDED);
	/* PMIx waits for this one, whoever it is. */
	is_int(finalized_upcall(&proc, NULL, pmix_done, &pmix), PMIX_SUCCESS);
	fake_turn();
	ok(!t.rank.is_in_mpi && !t.rank.has_come);
	is_int(t.n_checked, 0);
	is_done(1, PMIX_SUCCESS);
	pmix_close();
}

TAP_TEST(abort__with_and_without_words)
{
	char text[2000];
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(1);
	is_int(abort_upcall(&proc, NULL, 5, NULL, NULL, 0, pmix_done, &pmix), PMIX_SUCCESS);
	fake_turn();
	is_int(t.n_aborts, 1);
	is_int(t.aborted, 1);
	is_int(t.code, 5);
	is_str(t.text, "");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	is_int(abort_upcall(&proc, NULL, 6, text, NULL, 0, pmix_done, &pmix), PMIX_SUCCESS);
	fake_turn();
	is_int(strlen(t.text), 1000);
	is_done(2, PMIX_SUCCESS);
	shift_close();
	is_int(abort_upcall(&proc, NULL, 6, text, NULL, 0, pmix_done, &pmix), PMIX_ERROR);
	pmix_close();
}

TAP_TEST(notify__goes_to_the_root)
{
	pmix_info_t info;
	pmix_proc_t proc;
	char want[512];

	begin();
	proc = pmix_proc(1);
	pmix_text_info(&info, "a", "b");
	is_int(notify_upcall(-11, &proc, PMIX_RANGE_NAMESPACE, &info, 1, pmix_done, &pmix),
	       PMIX_OPERATION_SUCCEEDED);
	fake_turn();
	snprintf(want, sizeof(want),
		 "{\"code\":-11,\"count\":1,\"host\":0,\"nspace\":\"%s\",\"op\":\"event\","
		 "\"range\":%d,"
		 "\"rank\":1}",
		 proc.nspace, PMIX_RANGE_NAMESPACE);
	fake_sent(0, want, "a=b\n");
	is_int(notify_upcall(-11, NULL, PMIX_RANGE_GLOBAL, NULL, 0, pmix_done, &pmix),
	       PMIX_OPERATION_SUCCEEDED);
	fake_turn();
	must(fake.first != NULL);
	is_str(json_string_value(json_object_get(fake.first->head, "nspace")), "");
	is_int(json_integer_value(json_object_get(fake.first->head, "rank")), PMIX_RANK_UNDEF);
	is_int(fake.first->size, 0);
	free(info.value.data.string);
	pmix_close();
}

TAP_TEST(notify__what_goes_nowhere)
{
	pmix_info_t info;
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(1);
	/* debug.c hears this one. */
	is_int(notify_upcall(PMIX_READY_FOR_DEBUG, &proc, PMIX_RANGE_RM, NULL, 0, NULL, NULL),
	       PMIX_OPERATION_SUCCEEDED);
	pmix.pack = PMIX_ERR_PACK_FAILURE;
	pmix_text_info(&info, "a", "b");
	is_int(notify_upcall(-11, &proc, PMIX_RANGE_GLOBAL, &info, 1, NULL, NULL),
	       PMIX_ERR_PACK_FAILURE);
	fake_turn();
	ok(!fake.first);
	shift_close();
	is_int(notify_upcall(-11, &proc, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL), PMIX_ERROR);
	free(info.value.data.string);
	pmix_close();
}

static void told(const char *text, const char *body)
{
	json_t *head = pmix_head(text);

	event_told(&fake.step, head, body, strlen(body));
	json_decref(head);
}

TAP_TEST(event_told__another_hosts)
{
	begin();
	told("{\"host\":1,\"nspace\":\"ns\",\"rank\":3,\"code\":-11,\"range\":2,\"count\":2}",
	     "a=b\nc=d\n");
	must(pmix.n_notified == 1);
	is_int(pmix.code, -11);
	is_int(pmix.range, 2);
	is_str(pmix.source.nspace, "ns");
	is_int(pmix.source.rank, 3);
	must(pmix.n_infos == 2);
	is_str(pmix.infos[1].key, "c");
	is_str(pmix.infos[1].value.data.string, "d");
	pmix.notified(PMIX_SUCCESS, pmix.notified_arg);
	/* PMIx refuses: it does not call back then. */
	pmix.notify = PMIX_ERR_BAD_PARAM;
	told("{\"host\":1,\"nspace\":\"ns\",\"rank\":3,\"code\":-11,\"range\":2,\"count\":0}", "");
	is_int(pmix.n_notified, 2);
	is_int(pmix.n_infos, 0);
	pmix_close();
}

TAP_TEST(event_told__our_own_is_told_already)
{
	begin();
	told("{\"host\":0,\"nspace\":\"ns\",\"rank\":3,\"code\":-11,\"range\":2,\"count\":0}", "");
	is_int(pmix.n_notified, 0);
	pmix_close();
}

TAP_TEST(event_told__malformed)
{
	char text[512], name[PMIX_MAX_NSLEN + 2];

	begin();
	told("{\"host\":1,\"count\":0}", "");
	told("{\"host\":1,\"nspace\":7,\"count\":0}", "");
	told("{\"host\":1,\"nspace\":\"ns\",\"count\":-1}", "a=b\n");
	told("{\"host\":1,\"nspace\":\"ns\",\"count\":4097}", "a=b\n");
	told("{\"host\":1,\"nspace\":\"ns\",\"count\":1}", "");
	/* PMIx has not seen these bytes. */
	is_int(pmix.n_unpacked, 0);
	told("{\"host\":1,\"nspace\":\"ns\",\"count\":2}", "a=b\n");
	told("{\"host\":1,\"nspace\":\"ns\",\"count\":1}", "no value");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	snprintf(text, sizeof(text), "{\"host\":1,\"nspace\":\"%s\",\"count\":0}", name);
	told(text, "");
	is_int(pmix.n_notified, 0);
	name[sizeof(name) - 2] = 0;
	snprintf(text, sizeof(text), "{\"host\":1,\"nspace\":\"%s\",\"count\":0}", name);
	told(text, "");
	is_int(pmix.n_notified, 1);
	pmix.notified(PMIX_SUCCESS, pmix.notified_arg);
	pmix_close();
}
