/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share - how many of the places for connections the jobs of one user may hold. The connection of a
 * job that runs is never closed for somebody else, so such connections must not take all places.
 * Two rules bound them when a job is submitted:
 *
 *   A user's jobs hold no more places than all jobs leave free.
 *   All jobs leave a quarter of the places free, but an eighth where the user has no job yet.
 *
 * So there is always a place for somebody who comes, and he can submit a job as long as fewer users
 * than an eighth of the places have one. Pure.
 */
#ifndef SCHEDULER_SCORED_SHARE_H
#define SCHEDULER_SCORED_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* Places that all jobs leave free, when a user with @own jobs has submitted one more. */
size_t share_reserve(size_t places, size_t own);
/*
 * Whether a user may submit one more job. All users have @all jobs, each of which holds one of the
 * @places; @own of these jobs are this user's.
 */
bool share_allows(size_t places, size_t own, size_t all);

#endif
