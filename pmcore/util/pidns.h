/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pidns - pid namespaces as /proc shows them: a process has a number of its own in each namespace
 * that it is in, and we see it by one of them. Refuses to know who made the namespaces.
 */
#ifndef PM_UTIL_PIDNS_H
#define PM_UTIL_PIDNS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a namespace: the inode that stands for it, 0 = unknown. No two that live have the same. */
uint64_t pidns_self(void);
/* Of process @pid; 0 also if we may not look at that process. */
uint64_t pidns_of(pid_t pid);

/* The last number behind "NSpid:", which is that of the innermost namespace; 0 = none. */
pid_t pidns_last(const char *numbers);
/* The number that process @pid has in its own namespace; 0 = there is no such process. */
pid_t pidns_inner(pid_t pid);
/* The parent of process @pid; 0 = none that we see. */
pid_t pidns_parent(pid_t pid);

/* One process by both of its numbers. */
struct pidns_process {
	uint64_t ns;
	pid_t inner; /* there */
	pid_t outer; /* here */
};

struct pidns_table {
	struct pidns_process *all;
	size_t n, room;
};

/* Adds process @pid, if it is there and we may look at it. 0 or -ENOMEM. */
int pidns_add(struct pidns_table *table, pid_t pid);
/* Adds all processes of other namespaces than ours. 0 or -errno. */
int pidns_add_all(struct pidns_table *table);
/* Our number of the process that has @inner in @ns; 0 = there is none. */
pid_t pidns_find(const struct pidns_table *table, uint64_t ns, pid_t inner);
void pidns_fini(struct pidns_table *table);

#endif
