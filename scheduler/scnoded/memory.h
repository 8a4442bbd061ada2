/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how much memory the ranks of a job may have on this host, and how that is told. The
 * kernel ends those who want more.
 */
#ifndef SCHEDULER_SCNODED_MEMORY_H
#define SCHEDULER_SCNODED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scnoded/scnoded.h"

#define MEMORY_EXIT 137 /* of a job that wanted more: SIGKILL's */

/*
 * Bytes for @ranks ranks on a host with @total bytes, of which one job may have @share percent:
 * what they ask for, @asked bytes each, or all of the share if that is 0. 0: they ask for more than
 * the share.
 */
uint64_t memory_of(uint64_t asked, uint32_t ranks, uint64_t total, uint32_t share);
/* As "512 MiB" or "1.5 GiB". */
void memory_text(uint64_t bytes, char *text, size_t size);

/*
 * The most that the ranks of the job may have here, its temporary files included. 0: it can't be
 * limited.
 */
uint64_t memory_bound(const struct step *step);
/*
 * Limits the ranks of the job, whose group is there. NULL, or why the job cannot be here; free()
 * it.
 */
char *memory_hold(struct step *step);
/* Whether the kernel has ended a process of them for it. */
bool memory_is_exceeded(const struct step *step);
/* A sentence about that, with the remedy; free() it. */
char *memory_complaint(const struct step *step);

#endif
