/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdict - how a job ended: the first thing that went wrong decides the exit code and the one line
 * about it. Pure.
 */
#ifndef SCHEDULER_SCSTEPD_VERDICT_H
#define SCHEDULER_SCSTEPD_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

struct verdict {
	bool is_given; /* later causes change nothing */
	int code;      /* exit code of scrun */
	char text[1024];
};

/* The end of a rank, as waitpid(2) and the rank's host tell it. */
struct verdict_rank {
	uint32_t world, rank;
	const char *host;
	int status;
	bool is_in_mpi; /* it had begun with MPI and not finished */
	int code;       /* not 0: it could not be executed, this is its exit code, and why: */
	const char *why;
};

void verdict_give(struct verdict *verdict, int code, const char *text);
/* Whether this end of a rank ends the job. */
bool verdict_rank_ended(struct verdict *verdict, const struct verdict_rank *rank);
void verdict_aborted(struct verdict *verdict, uint32_t world, uint32_t rank, const char *host,
		     int code, const char *text);

#endif
