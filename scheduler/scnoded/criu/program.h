/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * program - starts a foreign program without a shell, with the descriptors that it needs and no
 * others. Knows nothing of what the program does.
 */
#ifndef SCHEDULER_SCNODED_CRIU_PROGRAM_H
#define SCHEDULER_SCNODED_CRIU_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

/* Where such programs look for others: the daemon's own PATH may be that of a service. */
#define PROGRAM_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PROGRAM_FILES_MAX 8

struct program {
	const char *path;        /* without '/': looked for in PATH */
	const char *const *argv; /* not written to */
	char *const *env;
	int files[PROGRAM_FILES_MAX]; /* become its descriptors 0, 1, 2...; -1: /dev/null */
	int n_files;                  /* 3 at least */
};

/* Becomes it, with nothing set up for signals. System calls only, if @path has a '/'. */
_Noreturn void program_exec(const struct program *program);
/* Starts it, and waits for its end. The status of wait(2), or -errno: it was not started. */
int program_run(const struct program *program);
/*
 * The same, and takes the first bytes of what it says; its descriptors 1 and 2 are replaced for
 * that. @ret is ended by zero.
 */
int program_ask(struct program *program, char *ret, size_t size);
/* How it has ended, for people: "exited with code 1". @status: as above. */
const char *program_end(int status, char *ret, size_t size);

#endif
