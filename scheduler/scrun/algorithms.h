/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * algorithms - whether a job gets the rules that come with us for collective operations: not when
 * the user says so, nor when the user's own file of Open MPI's parameters chooses algorithms.
 * Variables are looked at where ranks are started.
 */
#ifndef SCHEDULER_SCRUN_ALGORITHMS_H
#define SCHEDULER_SCRUN_ALGORITHMS_H

#include <stdbool.h>

/* In the environment of a job that must not get the rules. */
#define COLLECTIVES_DEFAULT "SCORE_COLLECTIVES=default"

/*
 * True: Open MPI's file of parameters below the HOME of @environment sets something of coll/tuned.
 */
bool algorithms_are_chosen(char *const *environment);

#endif
