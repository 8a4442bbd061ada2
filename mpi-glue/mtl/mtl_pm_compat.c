/* SPDX-License-Identifier: BSD-3-Clause */
/*
  * mtl_pm_compat - the fence and the job key, which Open MPI 4.1 and 5.0 take from different places.
 */
#include "mpi-glue/mtl/mtl_pm_compat.h"

#include <stdlib.h>
#include <string.h>

static char *text_of_environment(void)
{
	const char *text = getenv("OMPI_MCA_orte_precondition_transports");

	return text ? strdup(text) : NULL;
}

#if OMPI_MAJOR_VERSION >= 5

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
