// SPDX-License-Identifier: BSD-3-Clause
/* job: keys from mpirun's text, node numbers and their limits. */
#include "mpi-glue/common/job.h"
#include "tests/harness/tap.h"

#include <errno.h>

TAP_TEST(job_key_parse__both_halves_count)
{
	uint64_t a, b, c, again;

	is_int(job_key_parse("0123456789abcdef-fedcba9876543210", &a), 0);
	is_int(job_key_parse("0123456789abcdef-fedcba9876543211", &b), 0);
	is_int(job_key_parse("0123456789abcdee-fedcba9876543210", &c), 0);
	is_int(job_key_parse("0123456789ABCDEF-FEDCBA9876543210", &again), 0);
	ok(a != b && a != c && b != c);
	ok(a == again);
	is_int(job_key_parse("fedcba9876543210-0123456789abcdef", &b), 0);
	ok(a != b);
}

TAP_TEST(job_key_parse__damaged)
{
	static const char *const texts[] = {"",
					    "-",
					    "0123456789abcdef",
					    "0123456789abcdef-fedcba987654321",
					    "0123456789abcdef-fedcba98765432100",
					    "0123456789abcdef_fedcba9876543210",
					    "0123456789abcdeg-fedcba9876543210",
					    "0123456789abcdef-fedcba987654 210"};
	uint64_t key = 5;

	is_int(job_key_parse(NULL, &key), -EINVAL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		okf(job_key_parse(texts[i], &key) == -EINVAL, "\"%s\"", texts[i]);
	is_int(key, 5);
}

TAP_TEST(job_node__round_trip)
{
	uint32_t node;

	is_int(job_node(1, 7, &node), 0);
	is_int(job_node_job(node), 1);
	is_int(job_node_rank(node), 7);
	is_int(job_node(JOB_JOBS_MAX - 1, JOB_RANKS_MAX - 1, &node), 0);
	is_int(job_node_job(node), JOB_JOBS_MAX - 1);
	is_int(job_node_rank(node), JOB_RANKS_MAX - 1);
	ok(node != UINT32_MAX);
}

TAP_TEST(job_node__out_of_range)
{
	uint32_t node = 5;

	is_int(job_node(0, JOB_RANKS_MAX, &node), -ERANGE);
	is_int(job_node(JOB_JOBS_MAX, 0, &node), -ERANGE);
	is_int(node, 5);
}
