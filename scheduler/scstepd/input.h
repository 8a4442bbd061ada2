/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input - standard input for the ranks of this host, byte for byte, in the order in which it came.
 * Bytes that all readers here have taken are acknowledged to host 0, which gives scrun as much more
 * room. A rank that has closed its standard input, or has ended, takes everything.
 */
#ifndef SCHEDULER_SCSTEPD_INPUT_H
#define SCHEDULER_SCSTEPD_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/scstepd/ranks.h"

struct input;

struct input *input_open(struct step *step);
void input_close(struct input *input);
/* Whether scrun's standard input is for this rank. */
bool input_is_for(const struct step *step, const struct world *world, uint32_t rank);
/* @fd (ours from now on, non-blocking) is what @rank reads from. 0 or -ENOMEM. */
int input_add(struct input *input, struct rank *rank, int fd, bool is_terminal);
/* All readers of this host were added; what came before is theirs. */
void input_begin(struct input *input);
void input_rank_ended(struct input *input, const struct rank *rank);
/* OP_IN; size 0 is the end. */
void input_told(struct input *input, const char *body, size_t size);
/* OP_WINDOW, for a terminal. */
void input_window(struct input *input, int columns, int rows);

#endif
