/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks - the processes of this host: forked, held, let go, signalled, reaped. Everything they
 * print goes to output.h, what they read comes from input.h.
 */
#ifndef SCHEDULER_SCSTEPD_RANKS_H
#define SCHEDULER_SCSTEPD_RANKS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scstepd/step.h"

struct rank {
	struct step *step;
	struct world *world;
	uint32_t number; /* in its world */
	uint32_t slot;   /* on this host, over all worlds */
	pid_t pid;
	pid_t host_pid;   /* the number by which others on the host know it; 0: the same */
	char *path;       /* of its program */
	int go;           /* write end of what it waits for, -1 = it was let go */
	ev_io failure;    /* from child.h */
	bool has_ended;   /* reaped */
	bool is_reported; /* its end was told */
	bool is_in_mpi;   /* came to PMIx or PMI-1 and has not finished there */
	bool has_come;    /* came there at all */
	int status;       /* of waitpid(2) */
	uint64_t max_rss; /* bytes; when it has ended */
	int code;         /* if it could not exec: exit code, and why */
	char *why;
	struct stream *streams[2]; /* of output.h; NULL = closed */
};

/* The number for others: debuggers, and users who look for the process. */
static inline pid_t rank_host_pid(const struct rank *rank)
{
	return rank->host_pid ? rank->host_pid : rank->pid;
}

struct ranks;

struct ranks *ranks_open(struct step *step);
void ranks_close(struct ranks *ranks);

/*
 * Forks all ranks of @world on this host; they wait. 0, or an exit code with a sentence and the
 * rank it is about (-1: all of them); then none of them is left.
 */
int ranks_start(struct ranks *ranks, struct world *world, int64_t *ret_rank, char *why,
		size_t why_size);
void ranks_go(struct ranks *ranks, const struct world *world);

size_t ranks_count(const struct ranks *ranks);
struct rank *ranks_at(const struct ranks *ranks, size_t i);
struct rank *ranks_get(const struct ranks *ranks, const struct world *world, uint32_t number);
/* Those that have not been reaped. */
size_t ranks_alive(const struct ranks *ranks);
/* To the process group of each that is alive. */
void ranks_signal(struct ranks *ranks, int signo);

#endif
