/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forget - at the end, PMIx's server forgets the worlds and removes the files that their ranks
 * asked to be removed.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_FORGET_H
#define SCHEDULER_SCSTEPD_PMIX_FORGET_H

#include <stdbool.h>

#include "scheduler/scstepd/world.h"

/*
 * Waits until all of that is done, for @limit_ms at most. False: PMIx hangs, as it does after a
 * rank that it has refused: it has freed its record of the rank once too often (guard.c). The
 * caller must not call PMIx any more.
 */
bool forget_worlds(const struct worlds *worlds, unsigned int limit_ms);

#endif
