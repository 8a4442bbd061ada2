/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nspace - what PMIx's server is told of a world: the keys that Open MPI and others ask for at
 * start, and which of its ranks are here.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_NSPACE_H
#define SCHEDULER_SCSTEPD_PMIX_NSPACE_H

#include "scheduler/scstepd/step.h"

/*
 * 0, or -errno with a sentence. The server is up. Makes the directories of the world and its ranks.
 */
int nspace_register(const struct step *step, const struct world *world, char *why, size_t why_size);
/*
 * The variables that a rank's environment must have; NULL-terminated, each to be freed. 0 or
 * -errno.
 */
int nspace_environment(const struct world *world, uint32_t rank, char ***ret);

#endif
