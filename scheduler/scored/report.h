/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - what users and operators are shown. Of another user's job only what concerns everybody: its number,
 * owner, size, state and places, not what it runs.
 */
#ifndef SCHEDULER_SCORED_REPORT_H
#define SCHEDULER_SCORED_REPORT_H

#include <jansson.h>

#include "scheduler/scored/scored.h"

/* Whole messages; NULL: no memory. */
json_t *report_jobs(struct scored *d, uid_t viewer, json_int_t history);
json_t *report_cluster(struct scored *d);
json_t *report_activity(struct scored *d, uid_t viewer);

#endif
