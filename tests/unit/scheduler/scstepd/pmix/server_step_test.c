// SPDX-License-Identifier: BSD-3-Clause
/* server_step: PMIx's names of errors and processes as ours. */
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

TAP_TEST(server_status__each_error)
{
	static const struct {
		int error;
		pmix_status_t want;
	} all[] = {{0, PMIX_SUCCESS},
		   {ENOMEM, PMIX_ERR_NOMEM},
		   {ENOENT, PMIX_ERR_NOT_FOUND},
		   {EEXIST, PMIX_ERR_DUPLICATE_KEY},
		   {ETIMEDOUT, PMIX_ERR_TIMEOUT},
		   {EINVAL, PMIX_ERR_BAD_PARAM},
		   {EOPNOTSUPP, PMIX_ERR_NOT_SUPPORTED},
		   {ENOSPC, PMIX_ERR_OUT_OF_RESOURCE},
		   {EMSGSIZE, PMIX_ERR_OUT_OF_RESOURCE},
		   {EPIPE, PMIX_ERROR},
		   {-1, PMIX_ERROR}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		is_int(server_status(all[i].error), all[i].want);
}

TAP_TEST(server_find__ranks_and_strangers)
{
	struct world *world = NULL;
	uint32_t rank = 77;
	pmix_proc_t proc;

	pmix_open(2, 3);
	proc = pmix_proc(5);
	ok(server_find(&proc, &world, &rank));
	ok(world == worlds_get(&fake.step.worlds, 0));
	is_int(rank, 5);
	proc = pmix_proc(PMIX_RANK_WILDCARD);
	ok(server_find(&proc, &world, &rank));
	is_int(rank, PMIX_RANK_WILDCARD);
	rank = 77;
	proc = pmix_proc(6);
	ok(!server_find(&proc, &world, &rank));
	proc = pmix_proc(PMIX_RANK_UNDEF);
	ok(!server_find(&proc, &world, &rank));
	PMIX_LOAD_PROCID(&proc, "another", 0);
	ok(!server_find(&proc, &world, &rank));
	is_int(rank, 77);
	ok(server_step() == &fake.step);
	pmix_close();
	ok(!server_step());
}
