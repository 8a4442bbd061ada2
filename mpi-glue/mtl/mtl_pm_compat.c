/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_compat - the fence, the job key and the numbers of jobs, which Open MPI 4.1 and 5.0 take from different
 * places.
 */
#include "mpi-glue/mtl/mtl_pm_compat.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text_of_environment(void)
{
	const char *text = getenv("OMPI_MCA_orte_precondition_transports");

	return text ? strdup(text) : NULL;
}

#if OMPI_MAJOR_VERSION >= 5

/* False: the name is no number, then 5.0 keeps both halves in the id itself. */
static bool number_of_name(opal_jobid_t jobid, uint32_t *ret)
{
	pmix_nspace_t name;
	char *end;

	if (opal_pmix_convert_jobid(name, jobid) != OPAL_SUCCESS || !isdigit((unsigned char)*name))
		return false;
	*ret = (uint32_t)strtoul(name, &end, 10);
	return !*end;
}

uint32_t mtl_pm_job_number(opal_jobid_t jobid)
{
	uint32_t number;

	return number_of_name(jobid, &number) ? number : jobid;
}

opal_jobid_t mtl_pm_job_id(uint32_t number)
{
	pmix_nspace_t name = {0};
	opal_jobid_t jobid = number;
	uint32_t ours;

	if (!number_of_name(OMPI_PROC_MY_NAME->jobid, &ours))
		return number;
	snprintf(name, sizeof(name), "%" PRIu32, number);
	return opal_pmix_convert_nspace(&jobid, name) == OPAL_SUCCESS ? jobid : OPAL_JOBID_INVALID;
}

char *mtl_pm_job_text(void)
{
	opal_process_name_t everybody = {.jobid = OMPI_PROC_MY_NAME->jobid,
					 .vpid = OPAL_VPID_WILDCARD};
	char *text = NULL;
	int rc;

	OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, PMIX_CREDENTIAL, &everybody, &text, PMIX_STRING);
	return rc == PMIX_SUCCESS && text ? text : text_of_environment();
}

static void fence_ended(pmix_status_t status, void *arg)
{
	*(volatile bool *)arg = false;
}

int mtl_pm_fence_start(volatile bool *active)
{
	return PMIx_Fence_nb(NULL, 0, NULL, 0, fence_ended, (void *)active) == PMIX_SUCCESS
		       ? 0
		       : OMPI_ERROR;
}

#else

char *mtl_pm_job_text(void)
{
	return text_of_environment();
}

static void fence_ended(int status, void *arg)
{
	*(volatile bool *)arg = false;
}

int mtl_pm_fence_start(volatile bool *active)
{
	if (!opal_pmix.fence_nb)
		return OMPI_ERR_NOT_SUPPORTED;
	return opal_pmix.fence_nb(NULL, 0, fence_ended, (void *)active);
}

#endif
