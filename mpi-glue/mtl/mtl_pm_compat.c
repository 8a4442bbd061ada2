// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_compat - the fence, the job key and the numbers of jobs, which Open MPI 4.1 and 5.0 take
 * from different places. Open MPI 4.1's mpirun gives its processes a key, and so does scrun.
 */
#include "mpi-glue/mtl/mtl_pm_compat.h"
#include "mpi-glue/common/job.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static char *text_of_environment(void)
{
	const char *text = getenv("OMPI_MCA_orte_precondition_transports");

	return text ? strdup(text) : NULL;
}

static int draw_key(uint64_t *ret_key)
{
	return getrandom(ret_key, sizeof(*ret_key), 0) == sizeof(*ret_key) ? 0 : -errno;
}

#if OMPI_MAJOR_VERSION >= 5

/* Rank 0 puts its job's key under this name. */
#define KEY_NAME "openscore.mtl.pm.key"

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

/* The one that the rank 0 of a job has put, or puts soon. */
static int get_key(const char *job, uint64_t *ret_key)
{
	int seconds = MTL_PM_KEY_WAIT_S;
	pmix_value_t *value = NULL;
	pmix_info_t wait;
	pmix_proc_t root;
	int rc;

	PMIX_LOAD_PROCID(&root, job, 0);
	PMIX_INFO_LOAD(&wait, PMIX_TIMEOUT, &seconds, PMIX_INT);
	rc = PMIx_Get(&root, KEY_NAME, &wait, 1, &value) == PMIX_SUCCESS &&
			     value->type == PMIX_UINT64
		     ? 0
		     : -ENOENT;
	if (!rc)
		*ret_key = value->data.uint64;
	if (value)
		PMIX_VALUE_RELEASE(value);
	PMIX_INFO_DESTRUCT(&wait);
	return rc;
}

static int put_key(uint64_t key)
{
	pmix_value_t value = {.type = PMIX_UINT64, .data.uint64 = key};

	return PMIx_Put(PMIX_GLOBAL, KEY_NAME, &value) == PMIX_SUCCESS &&
			       PMIx_Commit() == PMIX_SUCCESS
		       ? 0
		       : -EIO;
}

/*
 * The key of the job whose process has spawned this one; -ENOENT: nobody has, or it does not use
 * mtl/pm.
 */
static int get_parents_key(uint64_t *ret_key)
{
	pmix_value_t *parent = NULL;
	int rc = -ENOENT;

	if (PMIx_Get(OMPI_PROC_MYID, PMIX_PARENT_ID, NULL, 0, &parent) == PMIX_SUCCESS &&
	    parent->type == PMIX_PROC)
		rc = get_key(parent->data.proc->nspace, ret_key);
	if (parent)
		PMIX_VALUE_RELEASE(parent);
	return rc;
}

int mtl_pm_agree_key(uint64_t *ret_key)
{
	uint64_t key;
	int rc;

	if (OMPI_PROC_MY_NAME->vpid)
		return get_key(OMPI_PROC_MYID->nspace, ret_key);
	rc = get_parents_key(&key);
	if (rc)
		rc = draw_key(&key);
	if (!rc)
		rc = put_key(key);
	if (!rc)
		*ret_key = key;
	return rc;
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

int mtl_pm_agree_key(uint64_t *ret_key)
{
	return ompi_process_info.num_procs > 1 ? -ENOENT : draw_key(ret_key);
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

int mtl_pm_find_key(uint64_t *ret_key)
{
	char *text = mtl_pm_job_text();
	int rc = text ? job_key_parse(text, ret_key) : mtl_pm_agree_key(ret_key);

	free(text);
	return rc;
}

opal_process_name_t mtl_pm_name_of_node(uint32_t node)
{
	uint32_t launch = mtl_pm_job_number(OMPI_PROC_MY_NAME->jobid) & ~0xffffu;

	return (opal_process_name_t){.jobid = mtl_pm_job_id(launch | job_node_job(node)),
				     .vpid = job_node_rank(node)};
}
