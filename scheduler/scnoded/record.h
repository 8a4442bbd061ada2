/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - what is on disk of a job: RUNDIR/jobs/ID with its order and scstepd, for a scnoded that
 * starts anew, and its directory for temporary files. Written whole or not at all.
 */
#ifndef SCHEDULER_SCNODED_RECORD_H
#define SCHEDULER_SCNODED_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/proto/order.h"

#define RECORD_TMP "tmp"
#define RECORD_DUMPED "dumped"     /* CRIU writes its processes down */
#define RECORD_RESTORED "restored" /* CRIU makes them */
#define RECORD_SHM "shm"           /* of a job with namespaces: leads to the host's /dev/shm */

/* The run directory and what is always in it. 0 or -errno with a sentence. */
int record_open(const char *run, char *why, size_t why_size);
/* Removes the run directory if no job is in it. */
void record_close(const char *run);
/* jobs/ID/FILE, or jobs/ID itself ("" as @file), in PATH_MAX bytes. */
void record_path(const char *run, uint64_t id, const char *file, char *path);
/*
 * Makes jobs/ID and its tmp, owned by the job's user; *@tmp is the caller's. If the run
 * directory is in memory and we may mount, tmp is a file system of its own, of @tmp_bytes; 0: it is
 * not. Then no job can fill that of the run directory. A job with namespaces gets bare directories
 * instead, tmp and shm, on which its init mounts. 0 or -errno with a sentence.
 */
int record_make(const char *run, const struct order *order, uint64_t tmp_bytes, char **tmp,
		char *why, size_t why_size);
/*
 * Writes which process its scstepd is: the number, and the start time to tell it from a later
 * process. 0 or -errno.
 */
int record_process(const char *run, uint64_t id, pid_t pid);
/* Something is under way with it, which a scnoded that is started anew must know. */
void record_mark(const char *run, uint64_t id, const char *mark, bool is_set);
bool record_has_mark(const char *run, uint64_t id, const char *mark);
/* The order that an earlier scnoded wrote; *@pid 0 = its scstepd is gone. NULL: unreadable. */
struct order *record_read(const char *run, uint64_t id, pid_t *pid);
/* Removes all of it, whatever the user has put there. */
void record_remove(const char *run, uint64_t id);
/* Numbers of the jobs that have a record; free() *@ids. Count. */
size_t record_list(const char *run, uint64_t **ids);

#endif
