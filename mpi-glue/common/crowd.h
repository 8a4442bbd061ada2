/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd - have the threads of a rank fewer cores than there are threads? Pure. */
#ifndef MPI_GLUE_CROWD_H
#define MPI_GLUE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * @threads: of the rank, that call MPI. @cores: that they may run on, all together; 0 = not known.
 * @online: cores of the host. @ranks: of the job on this host, which are taken to be spread evenly
 * over its cores.
 */
static inline bool crowd_is_crowded(uint32_t threads, uint32_t cores, uint32_t online,
				    uint32_t ranks)
{
	uint64_t sharers = online ? (uint64_t)ranks * cores / online : 1;

	return cores && threads > 1 && (uint64_t)threads * (sharers ? sharers : 1) > cores;
}

#endif
