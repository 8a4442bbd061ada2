/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * submit - the link to scored: asks for the job and hears where it runs and how it ended. A job
 * that is queued when scored goes away is submitted anew as soon as scored is back; one that runs
 * goes on without it.
 */
#ifndef SCHEDULER_SCRUN_SUBMIT_H
#define SCHEDULER_SCRUN_SUBMIT_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/proto/auth.h"
#include "scheduler/scrun/place.h"

#define SUBMIT_AGAIN_S 1.0

enum submit_lost {
	SUBMIT_UNREACHED, /* it was never there: the end */
	SUBMIT_QUEUED,    /* it is asked again until it is back */
	SUBMIT_RUNNING,   /* the job runs: the end of this link */
};

struct submit_events {
	/* @why: what it waits for, or NULL. */
	void (*queued)(uint64_t id, uint64_t position, const char *why, void *owner);
	void (*placed)(struct place *place, void *owner); /* the callee's */
	/* @checkpoint: from which it can be restored by another request; 0: that is not wanted. */
	void (*ended)(int code, const char *text, const json_t *statistics, uint64_t checkpoint,
		      void *owner);
	void (*refused)(const char *text, void *owner);    /* the request, with the remedy */
	void (*possible)(const json_t *head, void *owner); /* answer to a dry run */
	void (*suspended)(void *owner);                    /* answer to submit_suspend() */
	void (*lost)(enum submit_lost how, int error, const char *why, void *owner);
};

struct submit;

/*
 * Takes @request: OP_SUBMIT, with "dry_run" if nothing is to be kept; or OP_RESTART. @address:
 * "HOST:PORT". NULL: no memory.
 */
struct submit *submit_open(struct ev_loop *loop, struct auth *auth, const char *address,
			   json_t *request, const struct submit_events *events, void *owner);
/* The job ends if it has not yet. */
void submit_close(struct submit *submit);
/* false: scored is not there. */
bool submit_suspend(struct submit *submit, bool is_suspended);
/* Ends the job. false: scored is not there. */
bool submit_cancel(struct submit *submit);
bool submit_is_lost(const struct submit *submit);

#endif
