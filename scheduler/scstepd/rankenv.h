/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rankenv - the environment of a rank: what the user has, then what the program was given, then
 * ours.
 */
#ifndef SCHEDULER_SCSTEPD_RANKENV_H
#define SCHEDULER_SCSTEPD_RANKENV_H

#include "scheduler/scstepd/env.h"
#include "scheduler/scstepd/step.h"

/* The variables that all ranks of @app on this host have in common. 0 or -errno. */
int rankenv_app(const struct step *step, const struct world *world, const struct job_app *app,
		struct env *ret);
/*
 * The same with the variables of rank @number alone; @pmi: its end of PMI-1's socket, -1 = none. 0
 * or -errno.
 */
int rankenv_rank(const struct step *step, const struct world *world, uint32_t number, int pmi,
		 const struct env *common, struct env *ret);
/* "3,1,2" */
void rankenv_numbers(const uint32_t *numbers, uint32_t n, const char *between, char *to,
		     size_t size);

#endif
