/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask - a question of a rank here that the root answers (publish, lookup, unpublish, spawn).
 * Tickets tell the answers apart.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_ASK_H
#define SCHEDULER_SCSTEPD_PMIX_ASK_H

#include <jansson.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stddef.h>
#include <stdint.h>

struct ask {
	struct ask *next;
	uint64_t ticket;
	pmix_proc_t from;         /* who asks */
	pmix_op_cbfunc_t op_done; /* the one that PMIx gave */
	pmix_lookup_cbfunc_t lookup_done;
	pmix_spawn_cbfunc_t spawn_done;
	void *arg; /* of it */
	/* Calls it with what the root said; NULL: op_done with the status. */
	void (*answered)(struct ask *ask, pmix_status_t status, const char *body, size_t size);
	json_t *head; /* the question */
	char *body;
	size_t size;
};

/* NULL: no memory. */
struct ask *ask_new(const pmix_proc_t *from, void *arg);
/* Any thread: sends it to the root. Takes all; copies @body. Returns the status for the upcall. */
pmix_status_t ask_post(struct ask *ask, json_t *head, const void *body, size_t size);

#endif
