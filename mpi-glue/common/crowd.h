/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd - have the threads of a rank fewer cores than there are threads? Pure. */
#ifndef MPI_GLUE_CROWD_H
#define MPI_GLUE_CROWD_H

#include <stdbool.h>

/*
 * @threads: of the rank, that call MPI. @cores: that they may run on, all together. @online: cores of the host. @ranks: of
 * the job on this host. Ranks that may run on every core of the host share its cores; others have cores of their own.
 */
static inline bool crowd_is_crowded(unsigned int threads, unsigned int cores, unsigned int online,
				    unsigned int ranks)
{
	unsigned int sharers = cores >= online ? ranks : 1;

	return threads > 1 && threads > cores / (sharers ? sharers : 1);
}

#endif
