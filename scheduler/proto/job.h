/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job - what a user asks for, as scrun sends it, scored keeps it and scstepd starts it. One decode
 * function judges everything that came from outside; what it lets through needs no further check.
 */
#ifndef SCHEDULER_PROTO_JOB_H
#define SCHEDULER_PROTO_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JOB_RANKS_MAX 1000000
#define JOB_WORLDS_MAX 4000 /* with those that were spawned: what PM can number */
#define JOB_APPS_MAX 128
#define JOB_CART_DIMS 6
#define JOB_STDIN_NONE -2 /* struct job.stdin_rank */
#define JOB_STDIN_ALL -1
#define JOB_PRIORITY_MAX 1000
#define JOB_MEMORY_MIN (UINT64_C(1) << 20)
#define JOB_MEMORY_MAX (UINT64_C(1) << 50)

enum job_class {
	JOB_SHARED,    /* its cores are shared in time with other jobs: gang scheduled */
	JOB_EXCLUSIVE, /* its cores are its own until it ends */
};

enum job_bind {
	JOB_BIND_CORE, /* each rank to its own cores (the default) */
	JOB_BIND_HOST, /* all ranks of a host to all cores the job has there */
	JOB_BIND_NONE,
};

struct job_limit {
	int resource; /* RLIMIT_... */
	uint64_t soft, hard;
};

/* One program of an MPMD job. */
struct job_app {
	char **argv; /* NULL-terminated, at least the program */
	char **env;  /* NULL-terminated "NAME=VALUE": beside and above struct job.env */
	char *cwd;   /* absolute; NULL = struct job.cwd */
	uint32_t ranks;
};

/* All strings and arrays are owned; job_free(). */
struct job {
	char *name;        /* for people; the program's last path component unless said otherwise */
	uint32_t nodes;    /* hosts; 0 = as few as hold all ranks */
	uint32_t per_node; /* ranks on each host; 0 = spread evenly over the hosts */
	uint32_t ranks;    /* all; the sum over apps */
	/* grid that the ranks are laid on, the last dimension fastest */
	uint32_t cart[JOB_CART_DIMS];
	uint32_t n_cart;  /* its dimensions; 0 = none. Their product is ranks */
	bool may_scatter; /* any hosts will do, also where others make better neighbours */
	char *group;      /* group of the cluster, bracket list of hosts, or NULL = any host */
	char *network;    /* devices of PM_OPTIONS or a network of the cluster, or NULL */
	enum job_class class;
	enum job_bind bind;
	uint32_t cores;  /* cores of each rank; >= 1 */
	uint64_t memory; /* bytes of each rank; 0 = the host's scnoded has a limit for the job */
	/* -JOB_PRIORITY_MAX..JOB_PRIORITY_MAX, higher is earlier; above 0 for operators only */
	int32_t priority;
	double timeout_s;       /* 0 = none */
	bool may_oversubscribe; /* more ranks than cores on a host */
	bool does_report_bindings;
	bool is_statistics;
	bool is_debugged;      /* ranks wait in MPI_Init until scrun lets them go */
	bool wants_checkpoint; /* on each host it has namespaces of its own, which an image needs */
	double checkpoint_s;   /* it is written to disk by itself so often; 0 = if somebody asks */
	bool restarts;         /* scrun has it restored by itself if a host or a daemon is lost */
	bool wants_pty;        /* of rank pty_rank */
	int64_t pty_rank;
	int64_t stdin_rank; /* or JOB_STDIN_... */
	uint32_t umask;
	char *cwd;  /* absolute */
	char **env; /* NULL-terminated */
	struct job_limit *limits;
	size_t n_limits;
	struct job_app *apps;
	size_t n_apps;
};

/*
 * 0 and *@ret, or -EINVAL or -ENOMEM with a sentence in @why (field, what is wrong, what is right).
 */
int job_decode(struct job **ret, const json_t *from, char *why, size_t why_size);
json_t *job_encode(const struct job *job); /* NULL: no memory */
void job_free(struct job *job);

#endif
