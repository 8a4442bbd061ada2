/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scnoded - the daemon's parts and what they share. One libev loop, and the switch thread of turn.h
 * beside it.
 */
#ifndef SCHEDULER_SCNODED_SCNODED_H
#define SCHEDULER_SCNODED_SCNODED_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "scheduler/proto/auth.h"
#include "scheduler/proto/awake.h"
#include "scheduler/proto/daemon.h"
#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/lobby.h"
#include "scheduler/proto/order.h"
#include "scheduler/scnoded/cgroup.h"
#include "scheduler/scnoded/hostlock.h"
#include "scheduler/scnoded/options.h"
#include "scheduler/scnoded/turn.h"

#define REJOIN_S 4.0    /* a scstepd that was there before us has come back by then, or is ended */
#define STOP_S 6.0      /* a scstepd that was told to end has ended by then, or is killed */
#define DESERTED_S 0.01 /* between two looks whether killed processes are gone */
#define PENDING_WAIT_S 5.0 /* a connection waits so long for its job to begin */
#define GUESTS_MAX 1024

struct cores;
struct errand;
struct parted;
struct remote;
struct restart;
struct uplink;
struct waiting;
struct scnoded;

/* A job on this host. */
struct step {
	TAILQ_ENTRY(step) all;
	struct scnoded *daemon;
	uint64_t id;
	struct order *order;
	pid_t pid; /* its scstepd, or its init, whose only child that is; 0: none any more */
	int pidfd;
	uint64_t ns; /* pid namespace below its init (pidns.h); 0: it has no init */
	struct cgroup *group;
	struct link *control;    /* NULL: not there (yet) */
	struct waiting *waiting; /* NULL: no memory, and it is never said to wait */
	char *tmp;               /* the job's directory for temporary files */
	char *text;              /* why it ended, if we know; may be NULL */
	bool is_over;            /* wanted more memory than it may have, and is told to end */
	bool is_leaving;         /* being killed and swept */
	uint64_t change;         /* of devices: number of the request, 0 = it is answered */
	struct parted *parted;   /* its scstepd has closed its links, and comes back; or NULL */
	struct restart *restart; /* it is being restored; or NULL */
	double look_from;        /* at its processes: not before, by clock_monotonic_s() */
	bool is_stopping;        /* it was told to end, and has a limit for that */
	bool wants_killed;       /* scstepd waits for OP_KILLED */
	bool is_returning;       /* its scstepd has connected anew, and said nothing yet */
	bool is_begun;           /* scored knows that it began */
	bool is_reported;        /* scored knows how it ended */
	uint64_t memory;         /* bytes that its ranks may have; 0: as many as there are */
	uint64_t cpu_ns;         /* at the last beat */
	double cpu_at;
	ev_io exit;     /* of pidfd: of scstepd, then of what sweeps */
	ev_timer limit; /* it has come back, or has ended, by then: */
	double until;   /* awake_now() */
	ev_timer deserted;
	ev_timer killing; /* scstepd waits for OP_KILLED */
};
TAILQ_HEAD(step_list, step);

/* A connection whose job has not begun. */
struct pending {
	TAILQ_ENTRY(pending) all;
	int fd;
	uint64_t job;
	double until;
};
TAILQ_HEAD(pending_list, pending);

struct clearing;
struct images;
TAILQ_HEAD(images_list, images);

struct scnoded {
	struct ev_loop *loop;
	struct scnoded_options options;
	char name[256]; /* of this host */
	struct auth *auth;
	struct acceptor *acceptor;
	struct lobby *lobby;
	int rejoin_fd; /* RUNDIR/scnoded.sock */
	ev_io rejoin;
	ev_timer rejoin_rest; /* no descriptor was free */
	int lock;             /* of the run directory */
	enum cgroup_form form;
	struct turn *turn;
	struct cores *cores;
	struct uplink *uplink;
	struct remote *remote;
	struct hostlock lock_told; /* of this host, by scored */
	struct step_list steps;
	struct pending_list pending;
	struct images_list images; /* on their way to disk; of images.h */
	struct clearing *clearing; /* of what an earlier scnoded has left there; NULL: it is done */
	char store[40];            /* identity of the directory of images; "": it is not known */
	bool is_ending;            /* takes no job any more */
	ev_timer tick;             /* pending connections that waited too long */
	struct awake awake; /* the clock by which scored and scstepds are judged; beats with tick */
};

#endif
