/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - what users and operators are shown. Of another user's job only what concerns everybody:
 * its number, owner, size, state and places, not what it runs. Of his own what it runs, cut to some
 * hundred bytes: reports are made again and again, and arguments may be long.
 */
#ifndef SCHEDULER_SCORED_REPORT_H
#define SCHEDULER_SCORED_REPORT_H

#include <jansson.h>

#include "scheduler/scored/scored.h"

/* Whole messages; NULL: no memory. */
json_t *report_jobs(struct scored *d, uid_t viewer, json_int_t history);
json_t *report_cluster(struct scored *d);
json_t *report_activity(struct scored *d, uid_t viewer);

/*
 * The part of report_activity() that everybody may see, and the whole made of it for one user. The
 * parts are shared.
 */
json_t *report_common(struct scored *d);
json_t *report_of(struct scored *d, json_t *common, uid_t viewer);

#endif
