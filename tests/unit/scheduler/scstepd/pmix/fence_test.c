// SPDX-License-Identifier: BSD-3-Clause
/* fence: PMIx's collective calls as collectives; what they bring, and how they are answered. */
#include "scheduler/scstepd/collective.h"
#include "scheduler/scstepd/transport.h"
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static struct {
	int error; /* of collective_join() */
	char op[32], set[64], data[32];
	collective_done *done;
	void *arg;
	int n;
	size_t looked; /* bytes that transport_look() saw */
} collective;

char *collective_set(const struct worlds *worlds, struct collective_rank *ranks, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%u:%d;", ranks[i].world,
			ranks[i].rank == COLLECTIVE_ALL_RANKS ? -1 : (int)ranks[i].rank);
	fclose(out);
	return text;
}

int collective_join(struct collectives *collectives, const char *op, const char *set,
		    const void *data, size_t size, collective_done *done, void *arg)
{
	snprintf(collective.op, sizeof(collective.op), "%s", op);
	snprintf(collective.set, sizeof(collective.set), "%s", set);
	snprintf(collective.data, sizeof(collective.data), "%.*s", (int)size, (const char *)data);
	collective.done = done;
	collective.arg = arg;
	collective.n++;
	return collective.error;
}

void transport_look(struct step *step, const void *data, size_t size)
{
	collective.looked += size;
}

static void begin(void)
{
	memset(&collective, 0, sizeof(collective));
	pmix_open(2, 2);
}

static void fence(const pmix_proc_t *procs, size_t n, char *data, size_t size)
{
	is_int(fence_upcall(procs, n, NULL, 0, data, size, pmix_modex_done, &pmix), PMIX_SUCCESS);
	fake_turn();
}

TAP_TEST(fence__of_some_ranks)
{
	pmix_proc_t procs[2];
	char data[] = "data";

	begin();
	procs[0] = pmix_proc(3);
	procs[1] = pmix_proc(PMIX_RANK_WILDCARD);
	is_int(fence_upcall(procs, 2, NULL, 0, data, 4, pmix_modex_done, &pmix), PMIX_SUCCESS);
	/* PMIx's memory is its own again. */
	memset(data, 'X', 4);
	memset(procs, 0, sizeof(procs));
	is_int(collective.n, 0);
	fake_turn();
	is_int(collective.n, 1);
	is_str(collective.op, OP_FENCE);
	is_str(collective.set, "0:3;0:-1;");
	is_str(collective.data, "data");
	is_int(collective.looked, 4);
	is_int(pmix.n_done, 0);
	collective.done(0, "of all", 6, collective.arg);
	is_done(1, PMIX_SUCCESS);
	is_str(pmix.text, "of all");
	pmix_close();
}

TAP_TEST(fence__fails)
{
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(0);
	fence(&proc, 1, NULL, 100); /* no data, whatever size is said */
	is_str(collective.data, "");
	collective.done(ETIMEDOUT, "ignored", 7, collective.arg);
	is_done(1, PMIX_ERR_TIMEOUT);
	is_int(pmix.size, 0);
	collective.error = -ENOSPC;
	fence(&proc, 1, NULL, 0);
	is_done(2, PMIX_ERR_OUT_OF_RESOURCE);
	pmix_close();
}

TAP_TEST(fence__of_a_stranger)
{
	pmix_proc_t procs[2];

	begin();
	procs[0] = pmix_proc(0);
	PMIX_LOAD_PROCID(&procs[1], "another", 0);
	fence(procs, 2, NULL, 0);
	is_done(1, PMIX_ERR_NOT_FOUND);
	procs[1] = pmix_proc(4);
	fence(procs, 2, NULL, 0);
	is_done(2, PMIX_ERR_NOT_FOUND);
	is_int(collective.n, 0);
	pmix_close();
}

TAP_TEST(fence__of_nobody)
{
	begin();
	is_int(fence_upcall(NULL, 0, NULL, 0, NULL, 0, pmix_modex_done, &pmix), PMIX_ERR_BAD_PARAM);
	fake_turn();
	is_int(pmix.n_done, 0);
	pmix_close();
}

TAP_TEST(connect__is_answered_without_data)
{
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(1);
	is_int(connect_upcall(&proc, 1, NULL, 0, pmix_done, &pmix), PMIX_SUCCESS);
	fake_turn();
	is_str(collective.op, OP_CONNECT);
	collective.done(0, "unasked", 7, collective.arg);
	is_done(1, PMIX_SUCCESS);
	is_int(disconnect_upcall(&proc, 1, NULL, 0, pmix_done, &pmix), PMIX_SUCCESS);
	fake_turn();
	is_str(collective.op, OP_DISCONNECT);
	collective.done(EINVAL, NULL, 0, collective.arg);
	is_done(2, PMIX_ERR_BAD_PARAM);
	pmix_close();
}

TAP_TEST(fence__the_server_has_ended)
{
	pmix_proc_t proc;

	begin();
	proc = pmix_proc(1);
	shift_close();
	is_int(fence_upcall(&proc, 1, NULL, 0, NULL, 0, pmix_modex_done, &pmix), PMIX_ERROR);
	is_int(pmix.n_done, 0);
	pmix_close();
}
