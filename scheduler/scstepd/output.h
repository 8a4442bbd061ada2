/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output - what the ranks of this host print, byte for byte, to host 0. A host may have
 * OUTPUT_WINDOW bytes under way; host 0 gives it more room when they are on their way to scrun.
 * Without room the pipes are not read, and ranks wait in write(2).
 */
#ifndef SCHEDULER_SCSTEPD_OUTPUT_H
#define SCHEDULER_SCSTEPD_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/scstepd/ranks.h"

#define OUTPUT_TOGETHER (32u << 20) /* bytes under way of all hosts */
#define OUTPUT_HOST_MAX (1u << 20)
#define OUTPUT_HOST_MIN (64u << 10)

/* Bytes that each of @n_hosts hosts may have under way at first. */
static inline int64_t output_window(size_t n_hosts)
{
	uint64_t share = OUTPUT_TOGETHER / n_hosts;

	return share > OUTPUT_HOST_MAX   ? OUTPUT_HOST_MAX
	       : share < OUTPUT_HOST_MIN ? OUTPUT_HOST_MIN
					 : (int64_t)share;
}

struct output;

struct output *output_open(struct step *step);
void output_close(struct output *output);
/* @fd (ours from now on, non-blocking) is what @rank writes to: @stream 1 or 2. 0 or -ENOMEM. */
int output_add(struct output *output, struct rank *rank, int stream, int fd);
/* The rank was reaped: step_rank_ended() follows when all it wrote is sent. */
void output_rank_ended(struct output *output, struct rank *rank);
void output_room(struct output *output, int64_t bytes);
/* The way up has room again, or has none. */
void output_check(struct output *output);

#endif
