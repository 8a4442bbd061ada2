/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step - the scstepd of a job on a host: the state that its parts share, and how they tell the
 * other hosts what happens here. Each part does one thing and knows this header; course.h says what
 * follows from it.
 */
#ifndef SCHEDULER_SCSTEPD_STEP_H
#define SCHEDULER_SCSTEPD_STEP_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/proto/auth.h"
#include "scheduler/proto/order.h"
#include "scheduler/scstepd/collective.h"
#include "scheduler/scstepd/tree.h"
#include "scheduler/scstepd/world.h"

#define STEP_CODE_LOST 123 /* a host or daemon was lost */
#define STEP_CODE_TIMEOUT 124
#define STEP_CODE_START 125  /* could not be started */
#define STEP_CODE_MEMORY 137 /* wanted more memory than it may have; SIGKILL's */

enum step_state {
	STEP_BOOT,
	STEP_JOIN,
	STEP_READY,
	STEP_RUN,
	STEP_STOPPING,
	STEP_KILLING,
	STEP_OVER
};

#define STEP_PATH_MAX 3000 /* characters of a path from scnoded */

struct bind;
struct control;
struct input;
struct leader;
struct output;
struct ranks;
struct standstill;

struct step {
	struct ev_loop *loop;
	enum step_state state;
	/* Ends all ranks here: course_stop(), set once, for the parts that course.c calls. */
	void (*stop)(struct step *step, int code, const char *text);
	struct auth *auth;
	struct order *order; /* NULL before it came */
	size_t here;         /* our host among the order's */
	const char *host;    /* its name */
	char *tmpdir;        /* of the job */
	char *cpus;          /* list that scnoded allows, "" = no limit */
	/* file that tells how many processes of ours wanted too much memory; NULL: no limit */
	char *memory_kills;
	char *memory_text; /* what is said about that */
	struct worlds worlds;
	struct control *control; /* to scnoded */
	struct tree *tree;       /* to the other hosts, itself included */
	struct collectives *collectives;
	struct bind *bind;
	struct ranks *ranks;
	struct output *output;         /* of ranks, to host 0 */
	struct input *input;           /* to ranks */
	struct standstill *standstill; /* of ranks, for other devices */
	uint32_t slots;                /* ranks with a smaller one get its orders */
	struct leader *leader;         /* host 0 only */
	bool is_joined;                /* the tree is */
	bool is_served;                /* PMIx's server is up */
	bool is_told;                  /* the leader said that it is over */
	bool is_cut;                   /* scnoded said so: nobody waits for scrun any more */
	bool is_killed;                /* nothing is left of our ranks */
	ev_timer limit;                /* of STOPPING and KILLING */
	ev_timer part_limit;           /* for scrun */
	ev_signal wake;
	ev_prepare check; /* whether the end has come */
};

/* Sends a message to a host or TREE_ALL. A message that cannot be sent ends the job. */
void step_send(struct step *step, int64_t to, json_t *head, const void *body, size_t size);

/* All ranks of world 0 here execute their programs. */
void step_running(struct step *step);

struct rank;
void step_rank_ended(struct step *step, struct rank *rank); /* its output is sent */
/* A rank calls for the end of the job. */
void step_abort(struct step *step, uint32_t world, uint32_t rank, int code, const char *text);

/* Something is wrong here: the leader is told, and decides. @rank < 0: none in particular. */
void step_failed(struct step *step, uint32_t world, int64_t rank, int code, const char *text);

/* The scnoded has killed what was left of our ranks. */
void step_killed(struct step *step);

#endif
