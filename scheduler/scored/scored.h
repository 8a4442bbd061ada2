/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scored - the daemon's parts and what they share. Everything happens in one libev loop. Each file
 * may change only its own part:
 *
 *   nodes.c      the hosts
 *   scnodeds.c   what their daemons tell of them
 *   jobs_list.c  which jobs there are
 *   jobs.c       their states
 *   plan.c       where they run
 *   turns.c      the slot tables
 *   locks.c      the locks of hosts
 *   users.c      nothing
 */
#ifndef SCHEDULER_SCORED_SCORED_H
#define SCHEDULER_SCORED_SCORED_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "cluster/nameset.h"
#include "scheduler/gang/matrix.h"
#include "scheduler/gang/queue.h"
#include "scheduler/proto/auth.h"
#include "scheduler/proto/awake.h"
#include "scheduler/proto/daemon.h"
#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/host.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/lobby.h"
#include "scheduler/proto/order.h"
#include "scheduler/proto/slots.h"
#include "scheduler/scored/cluster.h"
#include "scheduler/scored/journal.h"
#include "scheduler/scored/options.h"
#include "scheduler/scored/skew.h"

#define BEAT_S 1.0     /* how often a scnoded and scored say that they live */
#define BEATS_MISSED 3 /* in a row: the host is lost */
#define JOB_BUCKETS 4096
#define GRACE_S 4.0 /* a host whose connection ended longer ago is lost to its jobs */
/*
 * The same of one whose connection we ended for silence, from its last word. Half a beat less, as
 * beats come late.
 */
#define SILENT_S (BEATS_MISSED * BEAT_S + GRACE_S - BEAT_S / 2)
#define REJOIN_S 20.0 /* the same after a start of ours */

enum node_state {
	NODE_ABSENT, /* in cluster.json or seen earlier; not connected */
	NODE_UP,
	NODE_DRAINED, /* up, but takes no new job */
};

/* The counts of a host's switch thread so far. */
struct node_switches {
	uint64_t done, late, worst_ns, lost_ns;
};

struct uplink;

struct node {
	uint32_t number; /* its place in scored.nodes, and its number in the matrix */
	char *name;
	struct host *host;     /* its last registration; NULL: never */
	struct link *link;     /* NULL: not connected */
	struct uplink *uplink; /* the link's owner; of scnodeds.c */
	enum node_state state;
	bool is_drained; /* by an operator; survives that it goes away */
	bool is_listed;  /* cluster.json has it; true without one */
	bool is_out;     /* it has not, or as defect or spare: takes no new job */
	long point;      /* where it stands in the network's space; -1 = nowhere */
	char *note;      /* why it is drained or lost; may be NULL */
	double heard;    /* awake_now() of its last word */
	double lost_at; /* awake_now() from which on it is lost to its jobs, without a connection */
	struct skew skew; /* of its clock */
	double load;
	uint64_t memory_free;
	struct node_switches switches;
	unsigned int n_jobs; /* that are not gone from it */
	size_t table_jobs;   /* jobs in the last slot table that it was sent */
	uint64_t told_lock;  /* lock that has it alone, as it was told; 0 = none */
	/* identity of its directory of images, also of one that is not connected; "": not known */
	char store[40];
};

enum sjob_state { SJOB_QUEUED, SJOB_STARTING, SJOB_RUNNING, SJOB_ENDING };

/* One host of a job, with the state that it has reported. */
struct sjob_host {
	struct node *node;
	uint32_t ranks;
	bool is_started, is_gone;
	bool is_idle, is_stuck; /* at its last beat */
	uint64_t cpu_ns;
};

struct user;

/* The last checkpoint of a job that is complete. */
struct sjob_image {
	uint64_t round; /* 0: none */
	int64_t taken;  /* seconds since the epoch */
	uint64_t bytes;
};

struct sjob {
	TAILQ_ENTRY(sjob) all;
	TAILQ_ENTRY(sjob) placed; /* if it has hosts */
	LIST_ENTRY(sjob) same;    /* bucket */
	uint64_t id;
	uid_t uid;
	gid_t gid;
	enum sjob_state state;
	struct job *job;     /* what was asked for */
	struct order *order; /* where it runs; NULL while queued */
	struct matrix_host *place;
	struct sjob_host *hosts;
	size_t n_hosts;
	struct account *account; /* to which it is charged; NULL: from before we started */
	size_t bytes;            /* charged */
	/* the scrun that waits for it; NULL: gone, or lost when we started anew */
	struct user *user;
	struct user *mover; /* waits until its ranks have stood still; NULL: nobody does */
	uint64_t change;    /* number of that request */
	bool is_tried;      /* it is only whether the job can be written to disk */
	struct checkpoint *checkpoint; /* is being written; NULL: none is */
	struct sjob_image image;
	double image_due;    /* clock_monotonic_s() of the next one by itself; 0: not known */
	char *image_failure; /* of the last one by itself, which nobody was told yet; or NULL */
	char *image_told;    /* the one that was told last; or NULL */
	char *devices; /* that it is to open when it is restored from there; NULL: as before */
	/* queued, to be restored: its order of then, which has the job; NULL: it is a new one */
	struct order *again;
	char *only; /* hosts that it may be restored on, as job.group; NULL: see plan_again() */
	bool is_suspended, is_resting;
	bool is_ended; /* code and text are final */
	/* it has ended as a host or a daemon was lost, and its scrun will have it restored */
	bool wants_restart;
	int code;
	char *text;                 /* the summary line; "" or NULL = went well */
	char *waits;                /* queued: what for */
	uint64_t tried;             /* queued: scored.plan_epoch when there was no place for it */
	int64_t position;           /* queued: when it was listed last */
	int64_t submitted, started; /* seconds since the epoch; 0 = not yet */
	bool is_parked; /* all its ranks wait for messages: others have its turns for a while */
	double parked_until; /* clock_monotonic_s() */
	/* clock_monotonic_s() of the first beat of which that was so; 0 = it is not */
	double stuck_since;
	unsigned int stuck_beats;
	bool is_told_stuck;
};
TAILQ_HEAD(sjob_list, sjob);
LIST_HEAD(sjob_bucket, sjob);
LIST_HEAD(user_list, user);

struct operators;
struct locks;
struct account;
struct checkpoint;
LIST_HEAD(account_list, account);

struct scored {
	struct ev_loop *loop;
	struct scored_options options;
	struct cluster *cluster; /* NULL: any host may register */
	struct operators *operators;
	struct auth *auth;
	struct acceptor *acceptor;
	struct lobby *lobby;
	struct journal *journal;
	struct node **nodes; /* by number */
	size_t n_nodes;
	struct nameset node_names; /* in the order of nodes */
	struct sjob_list jobs;     /* by id */
	struct sjob_list placed;   /* those of them that have hosts */
	struct sjob_bucket by_id[JOB_BUCKETS];
	struct queue queue;
	struct matrix *matrix;
	struct locks *locks; /* NULL: nobody can have one */
	struct user_list users;
	struct user_list followers; /* those of them that are told the activity */
	ev_timer tick;              /* active while there are followers */
	struct account_list accounts;
	uint64_t next_id;
	uint64_t table; /* number of the last slot table */
	ev_timer beat;
	ev_signal hangup;
	struct awake awake;  /* the clock by which hosts and locks are judged */
	double rejoin_until; /* awake_now(): no host is taken for lost before */
	ev_prepare plan;     /* active when somebody may start or the rows have changed */
	ev_idle plan_more;   /* active when there was no time for all: the loop does not sleep */
	uint64_t plan_epoch; /* grows when a place may have become free */
};

#endif
