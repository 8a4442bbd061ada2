/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descendants - the processes below one process, found in /proc, where there are no cgroups. Since
 * the ancestor is a subreaper, nobody below it gets away by losing its parent.
 */
#ifndef SCHEDULER_PROTO_DESCENDANTS_H
#define SCHEDULER_PROTO_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* @ancestor itself is never counted or signalled. */
/* Calls @each for all of them; stops when it returns false. */
void descendants_each(pid_t ancestor, bool (*each)(pid_t pid, void *owner), void *owner);
size_t descendants_count(pid_t ancestor); /* zombies are not counted */
/*
 * Sends @signal to all, again until nobody new is found. The kernel finishes a fork() before it
 * stops the caller, so one more child may come afterwards: the caller looks, and calls again. 0 or
 * -errno of the last that failed.
 */
int descendants_signal(pid_t ancestor, int signal);
/* Whether the first thread of each of them has stopped. */
bool descendants_is_stopped(pid_t ancestor);
uint64_t descendants_cpu_ns(pid_t ancestor);

#endif
