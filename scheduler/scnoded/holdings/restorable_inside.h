/* SPDX-License-Identifier: BSD-3-Clause */
/* restorable_inside - the parts of restorable.c. */
#ifndef SCHEDULER_SCNODED_HOLDINGS_RESTORABLE_INSIDE_H
#define SCHEDULER_SCNODED_HOLDINGS_RESTORABLE_INSIDE_H

#include <string.h>

#include "scheduler/scnoded/holdings/inodes.h"
#include "scheduler/scnoded/holdings/restorable.h"

#define JUDGE_PATH_SHOWN 256 /* bytes of a path in a sentence */

struct judge {
	const struct holdings *holdings;
	const struct restorable_terms *terms;
	struct refusals *refusals;
	struct inodes held;              /* sockets of the tree, sorted */
	const struct held_socket **ends; /* TCP sockets of the tree, by both addresses */
	size_t n_ends;
};

static inline bool judge_starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static inline bool judge_ends(const char *text, const char *with)
{
	size_t n = strlen(text), tail = strlen(with);

	return n >= tail && !strcmp(text + n - tail, with);
}

/* "job 7: rank 3 on n02 (process 4711) " and the clause. */
void judge_refuse(const struct judge *j, size_t process, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* About the whole part of the job: "job 7 on n02 " and the clause. */
void judge_refuse_part(const struct judge *j, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The name of an anonymous inode for people: "anon_inode:[io_uring]" is "an io_uring". */
const char *judge_anonymous(const char *name, char *text, size_t size);

/*
 * Whether NFS has made up this name for a file that was deleted while it was open ("silly rename").
 * CRIU takes such a one for deleted, and would need --link-remap.
 */
bool judge_is_silly(const char *path);

void judge_processes(const struct judge *j);
void judge_file(const struct judge *j, const struct held_file *file);
void judge_watch(const struct judge *j, const struct held_watch *watch);
void judge_socket(const struct judge *j, const struct held_file *file);
void judge_mapping(const struct judge *j, const struct held_mapping *mapping);
bool judge_list_ends(struct judge *j); /* false: out of memory */

#endif
