/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * algorithms - the rules by which Open MPI chooses algorithms of collective operations where PM
 * carries them. Owns where the file of rules lies, and when a job gets it; the rules themselves are
 * Open MPI's to read.
 */
#ifndef SCHEDULER_SCSTEPD_ALGORITHMS_H
#define SCHEDULER_SCSTEPD_ALGORITHMS_H

#include <stdbool.h>

#include "scheduler/scstepd/env.h"

/*
 * Names the file of rules, @rules, to ranks that use PM; NULL: there is none. Changes nothing where
 * a variable chooses algorithms already, or SCORE_COLLECTIVES is "default".
 */
void algorithms_put(struct env *env, const char *rules);
/*
 * The file that is installed with this program; NULL: there is none. Valid until the program ends.
 */
const char *algorithms_rules(void);

#endif
