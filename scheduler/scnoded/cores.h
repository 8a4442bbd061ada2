/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cores - the processors of this machine that jobs may use. They are those that this process is
 * allowed to use (cgroup cpuset, affinity), one per physical core where there are several threads.
 * Their order is one in which neighbours share caches. Jobs know them by number from 0.
 */
#ifndef SCHEDULER_SCNODED_CORES_H
#define SCHEDULER_SCNODED_CORES_H

#include <stddef.h>
#include <stdint.h>

struct cores;

/*
 * @request: NULL, a list of the machine's processors ("0-3,8"), or "Nx": N cores as if there were
 * so many (tests of large clusters). NULL with a sentence.
 */
struct cores *cores_open(const char *request, char *why, size_t why_size);
void cores_close(struct cores *cores);
uint32_t cores_count(const struct cores *cores);
/*
 * The machine's processors behind some of them, as a list ("0,2"), "" = any. free() it. NULL: no
 * memory.
 */
char *cores_list(const struct cores *cores, const uint32_t *numbers, size_t n);
/*
 * For sched_setaffinity(2): those processors, and the other threads of their cores that are
 * allowed. NULL: any. Ours.
 */
const unsigned long *cores_mask(const struct cores *cores, size_t *bytes);
/* Bytes of memory of the host, and what is free of it. */
uint64_t cores_memory(void);
uint64_t cores_memory_free(void);

#endif
