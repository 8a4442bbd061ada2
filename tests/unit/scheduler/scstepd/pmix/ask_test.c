// SPDX-License-Identifier: BSD-3-Clause
/* ask: questions to the root, and which answer belongs to which. */
#include "scheduler/scstepd/pmix/ask.h"

#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static void post(const char *op, const char *body)
{
	pmix_proc_t from = pmix_proc(1);
	struct ask *ask = ask_new(&from, &pmix);

	must(ask != NULL);
	ask->op_done = pmix_done;
	is_int(ask_post(ask, json_pack("{s:s}", "op", op), body, strlen(body)), PMIX_SUCCESS);
}

/* The ticket of the oldest question, which is forgotten. */
static json_int_t take_ticket(void)
{
	json_int_t ticket;

	if (!ok(fake.first != NULL))
		return 0;
	is_int(fake.first->to, 0);
	ticket = json_integer_value(json_object_get(fake.first->head, "ticket"));
	fake_drop();
	return ticket;
}

static void answer(json_int_t ticket, pmix_status_t status)
{
	json_t *head = json_pack("{s:I, s:i}", "ticket", ticket, "status", status);

	ask_answered(&fake.step, head, NULL, 0);
	json_decref(head);
}

TAP_TEST(ask_post__goes_to_the_root_in_the_loop)
{
	pmix_open(2, 2);
	post("lookup", "body");
	ok(!fake.first);
	fake_turn();
	must(fake.first != NULL);
	is_str(fake.first->body, "body");
	ok(take_ticket() > 0);
	pmix_close();
}

TAP_TEST(ask_answered__in_any_order_and_once)
{
	json_int_t tickets[3];

	pmix_open(2, 2);
	for (int i = 0; i < 3; i++)
		post("lookup", "");
	fake_turn();
	for (int i = 0; i < 3; i++)
		tickets[i] = take_ticket();
	ok(tickets[0] != tickets[1] && tickets[1] != tickets[2]);
	answer(tickets[1], PMIX_ERR_NOT_FOUND);
	is_done(1, PMIX_ERR_NOT_FOUND);
	answer(tickets[0], PMIX_SUCCESS);
	is_done(2, PMIX_SUCCESS);
	answer(tickets[2], PMIX_ERR_TIMEOUT);
	is_done(3, PMIX_ERR_TIMEOUT);
	/* No ticket is good for two answers, and no other number is one. */
	answer(tickets[1], PMIX_SUCCESS);
	answer(tickets[2] + 1, PMIX_SUCCESS);
	answer(0, PMIX_SUCCESS);
	answer(-1, PMIX_SUCCESS);
	is_int(pmix.n_done, 3);
	pmix_close();
}

static char heard[16];

static void take_answer(struct ask *ask, pmix_status_t status, const char *body, size_t size)
{
	is_int(ask->from.rank, 1);
	is_int(status, PMIX_SUCCESS);
	snprintf(heard, sizeof(heard), "%.*s", (int)size, body);
}

TAP_TEST(ask_answered__to_its_own_function)
{
	pmix_proc_t from;
	struct ask *ask;
	json_t *head;

	pmix_open(2, 2);
	from = pmix_proc(1);
	ask = ask_new(&from, &pmix);
	ask->answered = take_answer;
	is_int(ask_post(ask, json_pack("{s:s}", "op", "lookup"), NULL, 0), PMIX_SUCCESS);
	fake_turn();
	head = json_pack("{s:I, s:i}", "ticket", take_ticket(), "status", PMIX_SUCCESS);
	ask_answered(&fake.step, head, "found", 5);
	json_decref(head);
	is_str(heard, "found");
	is_int(pmix.n_done, 0);
	pmix_close();
}

TAP_TEST(ask_post__the_server_has_ended)
{
	pmix_proc_t from;

	pmix_open(2, 2);
	from = pmix_proc(1);
	shift_close();
	is_int(ask_post(ask_new(&from, &pmix), json_pack("{s:s}", "op", "lookup"), NULL, 0),
	       PMIX_ERROR);
	/* No head means that there was no memory for it. */
	is_int(ask_post(ask_new(&from, &pmix), NULL, NULL, 0), PMIX_ERR_NOMEM);
	is_int(pmix.n_done, 0);
	pmix_close();
}
