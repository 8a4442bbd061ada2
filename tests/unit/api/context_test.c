// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/api/context.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

struct element {
	struct slot slot;
	int value;
};

TAP_TEST(slot_open__until_full_and_again)
{
	struct slot_table table;
	pmDesc descs[5];

	is_int(slot_table_init(&table, sizeof(struct element), 4), 0);
	for (int i = 0; i < 4; i++)
		ok(slot_open(&table, struct element, &descs[i]) != NULL);
	ok(slot_open(&table, struct element, &descs[4]) == NULL);
	is_int(table.n_open, 4);
	slot_close(&table, descs[2], &slot_get(&table, struct element, descs[2])->slot);
	ok(slot_get(&table, struct element, descs[2]) == NULL);
	ok(slot_open(&table, struct element, &descs[4]) != NULL);
	ok(descs[4] != descs[2]);
	ok(slot_get(&table, struct element, descs[2]) == NULL);
	slot_table_fini(&table);
}

TAP_TEST(slot_get__invented_descriptors)
{
	struct slot_table table;
	uint64_t rng = tap_seed();
	pmDesc desc;
	int hits = 0;

	is_int(slot_table_init(&table, sizeof(struct element), 64), 0);
	for (int i = 0; i < 10; i++)
		slot_open(&table, struct element, &desc);
	for (int i = 0; i < 100000; i++)
		hits += slot_get(&table, struct element, tap_rand(&rng)) != NULL;
	is_int(hits, 0);
	ok(slot_get(&table, struct element, 0) == NULL);
	ok(slot_get(&table, struct element, ~0ull) == NULL);
	slot_table_fini(&table);
}

static struct pmOptions self_options(const char *config)
{
	return (struct pmOptions){.size = sizeof(struct pmOptions), .self = 5, .config = config};
}

TAP_TEST(pmOpenContext__wrong_options)
{
	struct pmOptions options = self_options("devices=self");
	pmContext ctx = 99;

	is_int(pmOpenContext(NULL, &ctx), EINVAL);
	is_int(pmOpenContext(&options, NULL), EINVAL);
	options.size = 3;
	is_int(pmOpenContext(&options, &ctx), EINVAL);
	options = self_options("devices=none");
	is_int(pmOpenContext(&options, &ctx), EINVAL);
	ok(strstr(pmLastError(), "none") && strstr(pmLastError(), "shmem"));
	options = self_options("colour=blue");
	is_int(pmOpenContext(&options, &ctx), EINVAL);
	ok(strstr(pmLastError(), "colour") != NULL);
	options = self_options("devices=self");
	options.self = PM_NODE_ANY;
	is_int(pmOpenContext(&options, &ctx), EINVAL);
	is_int(ctx, 99);
}

TAP_TEST(pmOpenContext__too_many)
{
	struct pmOptions options = self_options("devices=self");
	pmContext ctx[300];
	int n = 0, err = 0;

	while (n < 300 && !(err = pmOpenContext(&options, &ctx[n])))
		n++;
	is_int(err, EMFILE);
	is_int(n, 256);
	for (int i = 0; i < n; i++)
		is_int(pmCloseContext(ctx[i]), PM_SUCCESS);
	is_int(pmOpenContext(&options, &ctx[0]), PM_SUCCESS);
	is_int(pmCloseContext(ctx[0]), PM_SUCCESS);
}

TAP_TEST(pmGetSendBuffer__unknown_node)
{
	struct pmOptions options = self_options("devices=self");
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	pmContext ctx;
	pmDesc desc;
	void *buf;

	must(pmOpenContext(&options, &ctx) == PM_SUCCESS);
	is_int(pmGetSendBuffer(ctx, 6, 8, &buf, &desc), EHOSTUNREACH);
	ok(strstr(pmLastError(), "node 6") != NULL);
	is_int(pmGetAddress(ctx, address, &len), PM_SUCCESS);
	is_int(pmAddNode(ctx, 6, address, len), EINVAL);
	address[4] = 6; /* our address, claimed to be node 6's: self does not reach it */
	is_int(pmAddNode(ctx, 6, address, len), EHOSTUNREACH);
	len = 3;
	is_int(pmGetAddress(ctx, address, &len), ENOSPC);
	is_int(pmIsSendDone(ctx, 6), PM_SUCCESS);
	is_int(pmRemoveNode(ctx, 6), ENOENT);
	is_int(pmCloseContext(ctx), PM_SUCCESS);
}

/* A job of 100000 nodes costs what a job of 2 costs until the nodes are in contact. */
TAP_TEST(pmOpenContext__large_job_allocates_nothing_per_node)
{
	struct pmOptions options = self_options("devices=self");
	uint64_t small = 0, large = 0;
	pmContext ctx;

	options.nodes = 2;
	must(pmOpenContext(&options, &ctx) == PM_SUCCESS);
	is_int(pmGetAttribute(ctx, PM_ATTR_MEMORY, &small), PM_SUCCESS);
	is_int(pmCloseContext(ctx), PM_SUCCESS);
	options.nodes = 100000;
	must(pmOpenContext(&options, &ctx) == PM_SUCCESS);
	is_int(pmGetAttribute(ctx, PM_ATTR_MEMORY, &large), PM_SUCCESS);
	is_int(pmCloseContext(ctx), PM_SUCCESS);
	is_int(large, small);
}

TAP_TEST(pmOpenContext__child_of_fork)
{
	struct pmOptions options = self_options("devices=self");
	int status = 0;
	pmContext ctx;
	pmNode self;
	pid_t pid;

	must(is_int(pmOpenContext(&options, &ctx), 0));
	pid = fork();
	if (!pid) {
		pmContext own;

		_exit(pmGetSelf(ctx, &self) != EBADF || pmCloseContext(ctx) != EBADF ||
		      pmOpenContext(&options, &own) || pmCloseContext(own));
	}
	ok(pid > 0 && waitpid(pid, &status, 0) == pid);
	is_int(status, 0);
	is_int(pmGetSelf(ctx, &self), 0);
	is_int(pmCloseContext(ctx), 0);
}
