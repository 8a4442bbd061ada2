// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_compat: where a job's key comes from, when a fence is over, and how flags and numbers of
 * Open MPI are read. Each version of Open MPI has its own half.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include "ompi/constants.h"
#include "opal/runtime/opal_progress.h"

#define VARIABLE "OMPI_MCA_orte_precondition_transports"
#define TEXT "0123456789abcdef-fedcba9876543210"
#define UNTOUCHED 77u

static uint64_t next_random; /* 0: the kernel has none */

/* The C library's own: the program's functions come before those of its libraries. */
ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
	if (!next_random) {
		errno = ENOSYS;
		return -1;
	}
	is_int(size, sizeof(next_random));
	memcpy(bytes, &next_random, size);
	return (ssize_t)size;
}

static struct ompi_communicator_t *begin(void)
{
	struct ompi_communicator_t *comm = fake_start();

	unsetenv(VARIABLE);
	next_random = 1234;
	return comm;
}

static uint64_t key;

static int agree(void)
{
	key = UNTOUCHED;
	return mtl_pm_agree_key(&key);
}

TAP_TEST(job_text__of_the_environment)
{
	char *text;

	begin();
	ok(!mtl_pm_job_text());
	setenv(VARIABLE, TEXT, 1);
	text = mtl_pm_job_text();
	unsetenv(VARIABLE);
	/* It is the caller's. */
	is_str(text, TEXT);
	free(text);
}

TAP_TEST(fence__is_over_when_all_have_come)
{
	volatile bool is_active = true;

	begin();
	is_int(mtl_pm_fence_start(&is_active), 0);
	is_int(fake_mpi.fences, 1);
	ok(is_active);
	opal_progress();
	ok(!is_active);
}

TAP_TEST(context_id__the_same_in_all_processes)
{
	is_int(mtl_pm_context_id(begin()), FAKE_CONTEXT);
}

static void is_plain_but_with(uint32_t special)
{
	ok(mtl_pm_is_plain(CONVERTOR_HOMOGENEOUS | CONVERTOR_SEND));
	ok(!mtl_pm_is_plain(CONVERTOR_HOMOGENEOUS | CONVERTOR_SEND | special));
}

TAP_TEST(is_plain__other_byte_orders_and_memories)
{
	ok(!mtl_pm_is_plain(CONVERTOR_SEND));
#if OMPI_MAJOR_VERSION >= 5
	is_plain_but_with(CONVERTOR_ACCELERATOR);
#else
	is_plain_but_with(CONVERTOR_CUDA);
	is_plain_but_with(CONVERTOR_WITH_CHECKSUM);
#endif
}

#if OMPI_MAJOR_VERSION >= 5

TAP_TEST(is_shifted__never)
{
	ok(!mtl_pm_is_shifted(0) && !mtl_pm_is_shifted(CONVERTOR_SEND));
}

TAP_TEST(job_text__of_pmix_before_the_environment)
{
	char *text;

	begin();
	setenv(VARIABLE, TEXT, 1);
	fake_pmix.credential = "of PMIx";
	text = mtl_pm_job_text();
	is_str(text, "of PMIx");
	free(text);
	unsetenv(VARIABLE);
}

TAP_TEST(job__its_launch_and_its_number_in_it)
{
	const uint32_t ours = 7u << 16 | 2, sibling = 7u << 16 | 5, other = 8u << 16 | 2;

	/* Ids are the numbers, or hashes of names that are. */
	for (uint32_t hash = 0; hash <= FAKE_HASH; hash += FAKE_HASH) {
		begin();
		fake_pmix.names_jobs = hash;
		OMPI_PROC_MY_NAME->jobid = hash | ours;
		is_int(mtl_pm_job_number(hash | sibling), sibling);
		is_int(mtl_pm_job_id(sibling), hash | sibling);
		is_int(mtl_pm_local_job(hash | sibling), 5);
		ok(!mtl_pm_is_foreign(hash | sibling));
		ok(mtl_pm_is_foreign(hash | other));
	}
}

/* ---- PMIx: jobs with a key each, and one that has spawned us ---- */

#define JOB "65537"
#define PARENT "65536"

static void be(opal_vpid_t rank)
{
	begin();
	OMPI_PROC_MY_NAME->vpid = rank;
	PMIX_LOAD_NSPACE(OMPI_PROC_MYID->nspace, JOB);
}

static void gives_nothing(void)
{
	is_int(agree(), -ENOENT);
	is_int(key, UNTOUCHED);
}

TAP_TEST(agree_key__rank_0_draws_one_and_hands_it_on)
{
	be(0);
	is_int(agree(), 0);
	is_int(key, 1234);
	is_str(fake_pmix.put_name, "openscore.mtl.pm.key");
	is_int(fake_pmix.put_key, 1234);
	is_int(fake_pmix.scope, PMIX_GLOBAL);
	is_int(fake_pmix.commits, 1);
}

TAP_TEST(agree_key__rank_0_of_a_spawned_job_has_that_of_its_parents)
{
	be(0);
	fake_pmix.parent = PARENT;
	fake_pmix.job = PARENT;
	fake_pmix.key = 55;
	is_int(agree(), 0);
	is_int(key, 55);
	is_int(fake_pmix.put_key, 55);
	/* Parents without mtl/pm have none. */
	be(0);
	fake_pmix.parent = PARENT;
	is_int(agree(), 0);
	is_int(key, 1234);
}

TAP_TEST(agree_key__others_wait_for_rank_0_of_their_job)
{
	be(1);
	gives_nothing();
	be(1);
	fake_pmix.job = PARENT;
	fake_pmix.key = 55;
	gives_nothing();
	fake_pmix.job = JOB;
	is_int(agree(), 0);
	is_int(key, 55);
	is_int(fake_pmix.timeout, MTL_PM_KEY_WAIT_S);
	is_int(fake_pmix.commits, 0);
}

TAP_TEST(agree_key__of_another_type)
{
	be(1);
	fake_pmix.job = JOB;
	fake_pmix.key = 55;
	fake_pmix.key_type = PMIX_UINT32;
	gives_nothing();
}

TAP_TEST(agree_key__nothing_to_draw_or_no_way_to_hand_it_on)
{
	be(0);
	next_random = 0;
	is_int(agree(), -ENOSYS);
	is_int(key, UNTOUCHED);
	be(0);
	fake_mpi.publish_error = OPAL_ERROR;
	is_int(agree(), -EIO);
	is_int(key, UNTOUCHED);
}

#else

TAP_TEST(is_shifted__unless_the_send_was_prepared)
{
	ok(mtl_pm_is_shifted(0));
	ok(!mtl_pm_is_shifted(CONVERTOR_SEND));
}

TAP_TEST(agree_key__one_process_draws_it)
{
	begin();
	ompi_process_info.num_procs = 1;
	is_int(agree(), 0);
	is_int(key, 1234);
	next_random = 0;
	is_int(agree(), -ENOSYS);
	is_int(key, UNTOUCHED);
}

TAP_TEST(agree_key__several_have_no_way_to_agree)
{
	begin();
	ompi_process_info.num_procs = 2;
	is_int(agree(), -ENOENT);
	is_int(key, UNTOUCHED);
}

TAP_TEST(fence__a_launcher_without_one)
{
	volatile bool is_active = true;

	begin();
	opal_pmix.fence_nb = NULL;
	is_int(mtl_pm_fence_start(&is_active), OMPI_ERR_NOT_SUPPORTED);
	ok(is_active);
}

TAP_TEST(job__its_launch_and_its_number_in_it)
{
	begin();
	*OMPI_PROC_MY_NAME = (opal_process_name_t){.jobid = 7u << 16 | 2, .vpid = FAKE_SELF};
	is_int(mtl_pm_local_job(7u << 16 | 5), 5);
	is_int(mtl_pm_local_job(7u << 16 | 0xffff), 0xffff);
	ok(!mtl_pm_is_foreign(7u << 16 | 5));
	ok(mtl_pm_is_foreign(8u << 16 | 2));
	is_int(mtl_pm_job_id(mtl_pm_job_number(7u << 16 | 5)), 7u << 16 | 5);
}

#endif
