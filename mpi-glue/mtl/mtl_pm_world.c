/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi-glue/mtl/mtl_pm_world.h"

#include "mpi-glue/common/job.h"
#include "mpi-glue/mtl/mtl_pm_compat.h"

#include "opal/hash_string.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE_MAX 256
#define LOCAL_BITS 0xffffu /* of mpirun's job ids: the number within the mpirun */
#define SIGN_BIT 0x8000u /* Open MPI clears it in a hash, so that the low half is never negative */

/* The namespace of world 0 into @base; false below mpirun. */
static bool find_base(char base[NAMESPACE_MAX])
{
	const char *name = getenv("PMIX_NAMESPACE"), *world = getenv("SCORE_WORLD");
	char *dot;

	if (!name || !world || snprintf(base, NAMESPACE_MAX, "%s", name) >= NAMESPACE_MAX)
		return false;
	dot = strrchr(base, '.');
	if (strcmp(world, "0") != 0 && dot)
		*dot = 0;
	return true;
}

static uint32_t hash_of(const char *base, uint32_t world)
{
	char name[NAMESPACE_MAX + 16];
	uint32_t hash;

	snprintf(name, sizeof(name), world ? "%s.%u" : "%s", base, world);
	OPAL_HASH_STR(name, hash);
	return hash & ~SIGN_BIT;
}

uint32_t mtl_pm_jobid_of(uint32_t world)
{
	char base[NAMESPACE_MAX];

	return find_base(base) ? hash_of(base, world)
			       : (OMPI_PROC_MY_NAME->jobid & ~LOCAL_BITS) | world;
}

int mtl_pm_world_of(uint32_t jobid, uint32_t *ret_world)
{
	char base[NAMESPACE_MAX];

	if (!find_base(base)) {
		*ret_world = jobid & LOCAL_BITS;
		return (jobid ^ OMPI_PROC_MY_NAME->jobid) & ~LOCAL_BITS ? -ESRCH : 0;
	}
	for (uint32_t world = 0; world < JOB_JOBS_MAX; world++)
		if (hash_of(base, world) == jobid) {
			*ret_world = world;
			return 0;
		}
	return -ESRCH;
}
