/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store_inside - the parts of store. Everything below the directory of all checkpoints is reached
 * by names of one directory's descriptor, and no link is followed. Numbers are 0 or -errno.
 */
#ifndef SCHEDULER_SCNODED_STORE_STORE_INSIDE_H
#define SCHEDULER_SCNODED_STORE_STORE_INSIDE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/scnoded/store/store.h"

/* In INDEX, the name of its host: it tells whose images they are, committed or not. */
#define STORE_WRITER "writer"
#define STORE_TRIES 100 /* others remove empty directories while we make them */

/* The directories above an INDEX; negative: it is missing. */
struct store_dirs {
	int top;
	int job;   /* JOB */
	int fresh; /* JOB/ROUND.new */
	int round; /* JOB/ROUND */
};

/* Which of them to make if they are missing. */
enum store_make { STORE_MAKE_NONE, STORE_MAKE_FRESH, STORE_MAKE_ROUND };

/* The names of a place's directories. */
struct store_names {
	char job[24], round[24], fresh[32], index[16];
};

void store_name(const struct store_place *place, struct store_names *ret);
/* JOB, or ROUND, or INDEX; what follows the digits comes in *@ret_rest. False: it is none. */
bool store_number(const char *name, uint64_t *ret, const char **ret_rest);

/* The directory of all checkpoints; -EPERM: others may enter it. */
int store_top(const char *directory);
/* A directory in @fd; a descriptor or -errno. */
int store_below(int fd, const char *name);
/* Opens what is there. On an error nothing is open. */
int store_dirs_open(struct store_dirs *ret, const struct store_place *place, enum store_make make);
void store_dirs_close(const struct store_dirs *dirs);
/* Takes @fd, closed by closedir() or on an error. NULL: errno says why. */
DIR *store_list(int fd);
/* The next name but "." and ".."; NULL: the end, or errno is not 0. */
const char *store_next(DIR *dir);

/* Writes a small file, and sees that it is on the disk. */
int store_write(int fd, const char *name, const void *bytes, size_t size);
/* Which host has made @index in @fd; "" on an error, as of one that has no writer. */
int store_writer(int fd, const char *index, char ret[HOSTFILE_TEXT_MAX]);
/*
 * Removes the tree @name in @fd; its writer goes last, so that what is left of it after a crash
 * still has an owner. Nothing there is fine.
 */
int store_drop(int fd, const char *name);
/* Drops what is not committed of the place, also what a crash has left half made. */
int store_drop_fresh(const struct store_dirs *dirs, const struct store_names *names);
/* Removes directories of the place that are empty, and that another host may just fill or remove.
 */
void store_drop_empty(const struct store_dirs *dirs, const struct store_names *names);

/* Which images of a job are to go. */
struct store_sweep {
	const char *host;      /* those that it wrote */
	bool has_index;        /* and those of @index, which are the same part of the job */
	uint32_t index;        /* the host's place in the order */
	uint64_t keep;         /* committed ones only below this round */
	uint64_t newest_fresh; /* uncommitted ones only up to this round */
};

/* All rounds of the job @job, a directory in @top. */
int store_sweep(int top, const char *job, const struct store_sweep *sweep);

/* A file in @fd to be read; -EBADF: it is not a regular one. */
int store_file(int fd, const char *name);
int store_sum(int file, uint64_t *ret_size, uint32_t *ret_crc);
/* Of struct hostfile_file, by name. */
int store_compare(const void *a, const void *b);
/* May it lie beside the files of a dump, without being in host.json? */
bool store_is_beside(const char *name);

/*
 * "host h0: checkpoint 2 of job 7 in /dir: " and the clause, the error and a remedy. @host: NULL is
 * fine. @error: as of errno.
 */
char *store_failed(const struct store_place *place, const char *host, int error, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));
/* The same with a clause that has its own remedy. */
char *store_wrong(const struct store_place *place, const char *host, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
