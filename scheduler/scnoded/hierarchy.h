/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hierarchy - where control groups lie on this host, and the operations on one of their
 * directories. Only the callers know the purpose of a group.
 */
#ifndef SCHEDULER_SCNODED_HIERARCHY_H
#define SCHEDULER_SCNODED_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "scheduler/scnoded/cgroup.h"

/*
 * Mount point of the first file system of that type ("cgroup", "cgroup2") with that option; NULL:
 * with any.
 */
bool hierarchy_mount(const char *type, const char *option, char *path, size_t size);
/* The directory of @parent in the hierarchy that freezes. */
bool hierarchy_root(enum cgroup_form form, const char *parent, char *path, size_t size);
/* With all that is above it: 0, also if it is there already, or -errno. */
int hierarchy_make(const char *path);

/* 0 or -errno. */
int hierarchy_write(const char *path, const char *text);
/* The file's first bytes as a text; "" if there is none. */
void hierarchy_read(const char *path, char *text, size_t size);

/* Calls @each for every process of the group; stops when it returns false. */
void hierarchy_each_pid(const char *group, bool (*each)(pid_t pid, void *owner), void *owner);
/* SIGKILL to all who are there now. */
void hierarchy_kill(enum cgroup_form form, const char *group);
bool hierarchy_is_empty(enum cgroup_form form, const char *group);

#endif
