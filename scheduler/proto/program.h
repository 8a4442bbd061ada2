/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * program - where a program is and whether it can run here, found out before anything is forked, so
 * that the message can say what is wrong with it. The search is execvp(3)'s, with the job's PATH
 * and directory.
 */
#ifndef SCHEDULER_PROTO_PROGRAM_H
#define SCHEDULER_PROTO_PROGRAM_H

#include <stddef.h>

#define PROGRAM_NOT_EXECUTABLE 126
#define PROGRAM_NOT_FOUND 127

/*
 * 0 and the absolute path in *@ret (free() it), or an exit code with a sentence about @name on
 * @host. @path: value of PATH, NULL = the usual one. @cwd: absolute.
 */
int program_find(const char *name, const char *path, const char *cwd, const char *host, char **ret,
		 char *why, size_t why_size);
/* The same for an execve(2) of @name that failed after all. */
int program_failed(const char *name, const char *host, int error, char *why, size_t why_size);

#endif
