// SPDX-License-Identifier: BSD-3-Clause
/*
 * dmodex: data of a rank of another host: asked for there, answered by ticket, and refused where no
 * such rank is.
 */
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static struct {
	pmix_status_t status; /* of the request below */
	pmix_proc_t proc;
	pmix_dmodex_response_fn_t give;
	void *arg;
	int n;
} request;

pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t *proc, pmix_dmodex_response_fn_t give,
					 void *arg)
{
	request.proc = *proc;
	request.give = give;
	request.arg = arg;
	request.n++;
	return request.status;
}

static void begin(void)
{
	memset(&request, 0, sizeof(request));
	pmix_open(2, 3); /* we are host 0, with ranks 0 to 2 */
}

static void want(pmix_rank_t rank)
{
	pmix_proc_t proc = pmix_proc(rank);

	is_int(modex_upcall(&proc, NULL, 0, pmix_modex_done, &pmix), PMIX_SUCCESS);
	fake_turn();
}

static void answer(json_int_t ticket, int status, const char *body)
{
	json_t *head = json_pack("{s:I, s:i}", "ticket", ticket, "status", status);

	modex_answered(&fake.step, head, body, strlen(body));
	json_decref(head);
}

TAP_TEST(modex_upcall__a_rank_elsewhere)
{
	json_int_t first, second;

	begin();
	want(3);
	want(5);
	must(fake.first && fake.first->next);
	is_int(fake.first->to, 1);
	is_int(json_integer_value(json_object_get(fake.first->head, "rank")), 3);
	is_int(json_integer_value(json_object_get(fake.first->head, "world")), 0);
	first = json_integer_value(json_object_get(fake.first->head, "ticket"));
	fake_drop();
	second = json_integer_value(json_object_get(fake.first->head, "ticket"));
	ok(first != second);
	answer(second, PMIX_SUCCESS, "of 5");
	is_done(1, PMIX_SUCCESS);
	is_str(pmix.text, "of 5");
	answer(second, PMIX_SUCCESS, "again");
	is_int(pmix.n_done, 1);
	answer(first, PMIX_ERR_NOT_FOUND, "");
	is_done(2, PMIX_ERR_NOT_FOUND);
	is_int(pmix.size, 0);
	pmix_close();
}

TAP_TEST(modex_upcall__data_that_nobody_else_has)
{
	begin();
	/* Ours, those of the whole job, and a rank that is none. */
	want(2);
	is_done(1, PMIX_ERR_NOT_FOUND);
	want(PMIX_RANK_WILDCARD);
	is_done(2, PMIX_ERR_NOT_FOUND);
	want(6);
	is_done(3, PMIX_ERR_NOT_FOUND);
	ok(!fake.first);
	pmix_close();
}

static void ask(const char *text)
{
	json_t *head = pmix_head(text);

	modex_asked(&fake.step, 1, head);
	json_decref(head);
}

TAP_TEST(modex_asked__a_rank_of_ours)
{
	char data[] = "put";

	begin();
	ask("{\"world\":0,\"rank\":2,\"ticket\":9}");
	is_int(request.n, 1);
	is_int(request.proc.rank, 2);
	ok(!fake.first);
	request.give(PMIX_SUCCESS, data, 3, request.arg);
	data[0] = 'X';
	fake_turn();
	fake_sent(1, "{\"op\":\"modex_data\",\"status\":0,\"ticket\":9}", "put");
	pmix_close();
}

TAP_TEST(modex_asked__pmix_has_nothing)
{
	begin();
	ask("{\"world\":0,\"rank\":2,\"ticket\":9}");
	request.give(PMIX_ERR_NOT_FOUND, (char *)(uintptr_t) "junk", 4, request.arg);
	fake_turn();
	is_int(json_integer_value(json_object_get(fake.first->head, "status")), PMIX_ERR_NOT_FOUND);
	is_int(fake.first->size, 0);
	fake_drop();
	request.status = PMIX_ERR_TIMEOUT;
	ask("{\"world\":0,\"rank\":0,\"ticket\":3}");
	is_int(json_integer_value(json_object_get(fake.first->head, "status")), PMIX_ERR_TIMEOUT);
	pmix_close();
}

TAP_TEST(modex_asked__of_no_rank_of_ours)
{
	static const char *const wrong[] = {"{\"world\":0,\"rank\":3,\"ticket\":4}",
					    "{\"world\":0,\"rank\":6,\"ticket\":4}",
					    "{\"world\":0,\"rank\":-1,\"ticket\":4}",
					    "{\"world\":1,\"rank\":0,\"ticket\":4}",
					    "{\"world\":0,\"rank\":4294967296,\"ticket\":4}",
					    "{\"world\":-1,\"rank\":0,\"ticket\":4}"};

	begin();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ask(wrong[i]);
		fake_sent(1, "{\"op\":\"modex_data\",\"status\":-46,\"ticket\":4}", "");
	}
	is_int(PMIX_ERR_NOT_FOUND, -46);
	is_int(request.n, 0);
	pmix_close();
}
