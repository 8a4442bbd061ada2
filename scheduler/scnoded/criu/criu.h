/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * criu - the foreign program CRIU of this host, which writes processes to disk and restores them:
 * where it lies, and whether it works here. dump.h and restore.h use it.
 */
#ifndef SCHEDULER_SCNODED_CRIU_CRIU_H
#define SCHEDULER_SCNODED_CRIU_CRIU_H

#include <limits.h>

/* Older ones fail on Linux 6.18, with a good "criu check". */
#define CRIU_MAJOR 4
#define CRIU_MINOR 2

struct criu {
	char program[PATH_MAX]; /* its whole path */
	int major, minor;       /* version */
};

/*
 * Finds it, and has it check the kernel. @said: its path as an option gave it; NULL: the one of
 * PATH. NULL, or a sentence of the caller's, with @host. It blocks, so a daemon calls it in a
 * child.
 */
char *criu_find(struct criu *ret, const char *said, const char *host);
/* The numbers in what "criu --version" says. 0 or -EINVAL. */
int criu_version(const char *said, int *ret_major, int *ret_minor);

#endif
