/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server - the PMIx server of the ranks here: its life, and the table of upcalls. Opening takes
 * some 30 ms and is done by a thread of its own; course_served() tells when it is up.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_SERVER_H
#define SCHEDULER_SCSTEPD_PMIX_SERVER_H

#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>

#include "scheduler/scstepd/step.h"

/* 0 or -errno. */
int server_open(struct step *step);
/*
 * Waits for the opening, if it is under way, and for PMIx to forget all worlds. Later upcalls are
 * refused.
 */
void server_close(void);

/* server_step.c */
/* From here on it is this step; NULL: none. */
void server_serve(struct step *step);
/* Valid from server_open() to server_close(), in the loop only. */
struct step *server_step(void);

/* PMIx's word for an errno. */
pmix_status_t server_status(int error);
/* Our numbers of a process, false: not of this job. @ret_rank may be PMIX_RANK_WILDCARD. */
bool server_find(const pmix_proc_t *proc, struct world **ret_world, uint32_t *ret_rank);

#endif
