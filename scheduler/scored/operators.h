/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operators - the users who may do all that root may. Their names are looked up when scored starts
 * and not with each request: a directory service that does not answer would hold the loop, and
 * hosts would seem lost. A request looks unknown names up again, at most every OPERATORS_AGAIN_S
 * seconds.
 */
#ifndef SCHEDULER_SCORED_OPERATORS_H
#define SCHEDULER_SCORED_OPERATORS_H

#include <stdbool.h>
#include <sys/types.h>

#define OPERATORS_AGAIN_S 10.0

struct operators;

/* @names: separated by commas, NULL = none. NULL: no memory. Says who is unknown. */
struct operators *operators_open(const char *names, double now);
void operators_close(struct operators *operators);
/* @now: seconds of any clock that only grows. NULL is nobody but root. */
bool operators_has(struct operators *operators, uid_t uid, double now);

#endif
