/* SPDX-License-Identifier: BSD-3-Clause */
/* survey_inside - the parts of survey.c. Each leaves a "trouble" when it could not finish. */
#ifndef SCHEDULER_SCNODED_HOLDINGS_SURVEY_INSIDE_H
#define SCHEDULER_SCNODED_HOLDINGS_SURVEY_INSIDE_H

#include "scheduler/scnoded/holdings/procline.h"
#include "scheduler/scnoded/holdings/survey.h"

struct survey {
	const struct survey_order *order;
	struct holdings *holdings;
	uint64_t until_ns;             /* clock_monotonic_ns() */
	struct procline_mount *mounts; /* of the root, by number in ascending order */
	size_t n_mounts;
};

/* Whether to go on: there is no trouble, and time is left. */
bool survey_goes_on(const struct survey *s);
/* Whether an error of a file below /proc says that the process or the descriptor is gone. */
bool survey_is_gone(int err);
/* Text of /proc/PID/@file, cut to @size; false with errno. */
bool survey_read(pid_t pid, const char *file, char *text, size_t size);

/* Reads the mounts that the root sees, after survey_processes(). */
void survey_mounts(struct survey *s);
void survey_forget_mounts(struct survey *s);
const struct procline_mount *survey_mount(const struct survey *s, int id); /* NULL: no such */

/* The root and all below it. 0 or -ESRCH. */
int survey_processes(struct survey *s);
/* Whether the tree has started it since that was read, or it is gone. */
bool survey_is_below(const struct holdings *h, pid_t pid);
/* Members of the order that are not in the tree. */
void survey_strangers(struct survey *s);
/* Descriptors of one process. */
void survey_files(struct survey *s, size_t process);
/* Of what the epolls watch, after all files: whether a descriptor leads to it. */
void survey_watches(struct survey *s);
void survey_mappings(struct survey *s, size_t process);
/* Of the sockets among the files. */
void survey_sockets(struct survey *s);
/* The other ends of pipes and unix sockets of which the tree holds one end only. */
void survey_outsiders(struct survey *s);

#endif
