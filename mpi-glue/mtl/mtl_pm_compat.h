/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_compat - what Open MPI 4.1 and 5.0 call differently. The only file that looks at the
 * version.
 */
#ifndef MTL_PM_COMPAT_H
#define MTL_PM_COMPAT_H

#include "ompi_config.h"

#include "opal/datatype/opal_convertor.h"
#include "ompi/communicator/communicator.h"
#include "ompi/proc/proc.h"

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/pmix/pmix-internal.h"
#include "ompi/runtime/ompi_rte.h"
#define MTL_PM_SCOPE_GLOBAL PMIX_GLOBAL
#define MTL_PM_KEY_HOSTNAME PMIX_HOSTNAME
#define MTL_PM_TYPE_STRING PMIX_STRING
#define MTL_PM_NO_KEY                                                                              \
	"rank 0 of the job has not handed it on by PMIx; look whether mtl/pm is installed on "     \
	"its host and can be used there"
#else
#include "ompi/mca/rte/rte.h"
#include "opal/mca/pmix/pmix.h"
/*
 * Data that Open MPI 5 does not have: loaded there, the component must come to the point where it
 * says so.
 */
#pragma weak opal_pmix
#pragma weak opal_value_t_class
#pragma weak orte_process_info
#define MTL_PM_SCOPE_GLOBAL OPAL_PMIX_GLOBAL
#define MTL_PM_KEY_HOSTNAME OPAL_PMIX_HOSTNAME
#define MTL_PM_TYPE_STRING OPAL_STRING
#define MTL_PM_NO_KEY                                                                              \
	"OMPI_MCA_orte_precondition_transports is missing; start the program with mpirun"
#endif

/* Ends the job with a sentence. For what cannot go on: no memory, no way back to a peer. */
#define mtl_pm_fatal(fmt, ...) ompi_rte_abort(1, (char *)("mtl/pm: " fmt), ##__VA_ARGS__)

/* The number that names the communicator in all its processes. */
static inline uint32_t mtl_pm_context_id(const struct ompi_communicator_t *comm)
{
#if OMPI_MAJOR_VERSION >= 5
	return (uint32_t)comm->c_index;
#else
	return comm->c_contextid;
#endif
}

/*
 * Whether pml/cm left the convertor of a contiguous send half filled in: then its buffer pointer
 * already includes the lower bound of the type. Open MPI 5 always leaves that to us.
 */
static inline bool mtl_pm_is_shifted(uint32_t convertor_flags)
{
#if OMPI_MAJOR_VERSION >= 5
	return false;
#else
	return !(convertor_flags & CONVERTOR_SEND);
#endif
}

/*
 * No bytes of another byte order, no memory of a graphics card, and no checksums, which 5.0 does
 * not have.
 */
static inline bool mtl_pm_is_plain(uint32_t convertor_flags)
{
#if OMPI_MAJOR_VERSION >= 5
	const uint32_t special = CONVERTOR_ACCELERATOR;
#else
	const uint32_t special = CONVERTOR_WITH_CHECKSUM | CONVERTOR_CUDA;
#endif

	return (convertor_flags & (CONVERTOR_HOMOGENEOUS | special)) == CONVERTOR_HOMOGENEOUS;
}

/*
 * A job's number: the launch it belongs to in the upper half, which of its jobs in the lower one.
 * Open MPI 4.1 has no other ids; 5.0 makes hashes of names like scrun's, which are such numbers.
 */
#if OMPI_MAJOR_VERSION >= 5
uint32_t mtl_pm_job_number(opal_jobid_t jobid);
/* The other way, of a job of this process's own launch. */
opal_jobid_t mtl_pm_job_id(uint32_t number);
#else
#define mtl_pm_job_number(jobid) ((uint32_t)(jobid))
#define mtl_pm_job_id(number) ((opal_jobid_t)(number))
#endif

static inline uint32_t mtl_pm_local_job(opal_jobid_t jobid)
{
	return mtl_pm_job_number(jobid) & 0xffff;
}

/* Only jobs of one launch have a key in common. */
static inline bool mtl_pm_is_foreign(opal_jobid_t jobid)
{
	return (mtl_pm_job_number(jobid) ^ mtl_pm_job_number(OMPI_PROC_MY_NAME->jobid)) & ~0xffffu;
}

/*
 * The text from which the processes of a job make their common key, to be freed; NULL: none was
 * given.
 */
char *mtl_pm_job_text(void);

/* How long the others wait for rank 0's key: MPI_Init of all ranks begins within this time. */
#define MTL_PM_KEY_WAIT_S 60

/*
 * A launcher has given no text: rank 0 draws a key and hands it on by PMIx, to nobody but the
 * processes of its launch. Spawned jobs have that of their parents. 0 or -errno.
 */
int mtl_pm_agree_key(uint64_t *ret_key);

/* The key of the job, by either of these. 0, -EINVAL: the text is damaged, or another -errno. */
int mtl_pm_find_key(uint64_t *ret_key);

/* The process of this launch that has that node number. */
opal_process_name_t mtl_pm_name_of_node(uint32_t node);

/* Starts a fence over this process's job; *@active becomes false at its end. 0 or an error. */
int mtl_pm_fence_start(volatile bool *active);

#endif
