/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * merge - equal lines of several ranks become one. Lines are collected for a while; the order of
 * the lines of each rank stays. Pure: the owner says when the while is over.
 */
#ifndef SCHEDULER_SCRUN_MERGE_H
#define SCHEDULER_SCRUN_MERGE_H

#include <stddef.h>
#include <stdint.h>

#define MERGE_FULL (1u << 20) /* bytes from which on it should be flushed */

struct merge;

/* @who: "0-3,5"; valid during the call. @line: without its end. */
typedef void merge_emit(int stream, const char *who, const char *line, size_t size, void *owner);

struct merge *merge_open(void);
void merge_close(struct merge *merge);
/* A line of a rank of world 0. Ranks are at most JOB_RANKS_MAX. 0 or -ENOMEM. */
int merge_add(struct merge *merge, uint32_t rank, int stream, const char *line, size_t size);
/* Bytes that are collected; 0 = nothing. */
size_t merge_size(const struct merge *merge);
/* Hands out everything. 0 or -ENOMEM. */
int merge_flush(struct merge *merge, merge_emit *emit, void *owner);

#endif
