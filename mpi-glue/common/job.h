/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job - from Open MPI's names to PM's: the job key and the node numbers.
 *
 * Pure arithmetic on numbers and text. A node number carries the job's number within one mpirun, so
 * that spawned processes and their parents are different nodes of one PM job.
 */
#ifndef MPI_GLUE_JOB_H
#define MPI_GLUE_JOB_H

#include <stdint.h>

#define JOB_RANK_BITS 20
#define JOB_RANKS_MAX (1u << JOB_RANK_BITS)
/* The last one is left out: it would contain PM_NODE_ANY. */
#define JOB_JOBS_MAX ((1u << (32 - JOB_RANK_BITS)) - 1)

/*
 * The key from the text that mpirun gives all its processes: two 64-bit hexadecimal numbers joined
 * by a dash. 0 or -EINVAL.
 */
int job_key_parse(const char *text, uint64_t *ret_key);

/* The node of rank @vpid of the job @local_job; 0 or -ERANGE when the numbers do not fit. */
int job_node(uint32_t local_job, uint32_t vpid, uint32_t *ret_node);

static inline uint32_t job_node_job(uint32_t node)
{
	return node >> JOB_RANK_BITS;
}

static inline uint32_t job_node_rank(uint32_t node)
{
	return node & (JOB_RANKS_MAX - 1);
}

#endif
