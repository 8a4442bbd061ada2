// SPDX-License-Identifier: BSD-3-Clause
/*
 * job - key and node numbers. Both halves of mpirun's key go through a mixer, so that keys that
 * differ in few bits give job keys that differ in many.
 */
#include "mpi-glue/common/job.h"
#include "pmcore/util/splitmix.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { HEX_DIGITS = 16 };

static int parse_hex(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (int i = 0; i < HEX_DIGITS; i++) {
		int c = tolower((unsigned char)text[i]);

		if (!isxdigit(c))
			return -EINVAL;
		value = value << 4 | (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	*ret_value = value;
	return 0;
}

int job_key_parse(const char *text, uint64_t *ret_key)
{
	uint64_t high, low;

	if (!text || strlen(text) != 2 * HEX_DIGITS + 1 || text[HEX_DIGITS] != '-')
		return -EINVAL;
	if (parse_hex(text, &high) || parse_hex(text + HEX_DIGITS + 1, &low))
		return -EINVAL;
	*ret_key = splitmix_mix(splitmix_mix(high) + SPLITMIX_GOLDEN + low);
	return 0;
}

int job_node(uint32_t local_job, uint32_t vpid, uint32_t *ret_node)
{
	if (local_job >= JOB_JOBS_MAX || vpid >= JOB_RANKS_MAX)
		return -ERANGE;
	*ret_node = local_job << JOB_RANK_BITS | vpid;
	return 0;
}
