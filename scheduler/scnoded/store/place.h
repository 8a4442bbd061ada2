/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place - the directories of store.h: found, made and removed by descriptors, and no link in them
 * is followed. Errors are -errno.
 */
#ifndef SCHEDULER_SCNODED_STORE_PLACE_H
#define SCHEDULER_SCNODED_STORE_PLACE_H

#include "scheduler/scnoded/store/store.h"

#define PLACE_WRITER "writer" /* in each place: the host that writes it */
#define PLACE_NAME_MAX 32     /* bytes of a number with ".new", the end included */

/* "3.new" or "3". */
void place_round_name(uint64_t round, bool is_committed, char ret[PLACE_NAME_MAX]);
/* The number in such a name; 0: it is none. *@ret_is_committed tells which. */
uint64_t place_round(const char *name, bool *ret_is_committed);

/* Directories of it, as descriptors. With @is_made they are made if missing. */
int place_open_all(const struct store_place *place);
int place_open_job(const struct store_place *place, bool is_made);
int place_open_round(const struct store_place *place, bool is_committed, bool is_made);
int place_open(const struct store_place *place, bool is_committed);

/* Removes directory @name in @parent, which has nothing but files. Missing is fine. */
int place_remove(int parent, const char *name);
/* Removes what has become empty: the round, and the job. */
void place_prune(const struct store_place *place, bool is_committed);

/* Calls @each with every name in the directory @fd, "." and ".." left out, until it is not 0. */
int place_each(int fd, int (*each)(int fd, const char *name, void *owner), void *owner);

/* The whole file @name in @fd, ended by a zero byte; NULL with errno. Not above @max bytes. */
char *place_read(int fd, const char *name, size_t max);
/* Writes it whole or not at all, on disk. */
int place_write(int fd, const char *name, const char *text);
/* Whether @host has made the place @fd. */
bool place_is_of(int fd, const char *host);

/* The sentence for @error at that place. */
char *place_complaint(const struct store_place *place, const char *what, int error);

#endif
