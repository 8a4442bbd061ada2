/* SPDX-License-Identifier: BSD-3-Clause */
/* stored - for tests of store.h: a directory of checkpoints, and images of a job in it. */
#ifndef TESTS_UNIT_SCHEDULER_SCNODED_STORE_STORED_H
#define TESTS_UNIT_SCHEDULER_SCNODED_STORE_STORED_H

#include <stdbool.h>

#include "scheduler/scnoded/store/store.h"

#define STORED_JOB 7

extern struct stored {
	char directory[64];
} stored;

void stored_open(void);
void stored_close(void); /* with all that is in it */

struct store_place stored_place(uint64_t round, uint32_t index);
/* What a sentence says; "" without one. Frees it. */
const char *stored_text(char *text);
/* Writes file @name of an uncommitted place. */
void stored_write(const struct store_place *place, const char *name, const char *text);
/* For store_seal(); free with hostfile_fini(). */
struct hostfile stored_about(const struct store_place *place, const char *host);
/* A place with two files, by the calls of store.h; false: one of them failed. */
bool stored_seal(const struct store_place *place, const char *host);
/* The same, and it is committed. */
bool stored_commit(const struct store_place *place, const char *host, uint64_t keep);
/* Whether it is committed, and whole. */
bool stored_is_whole(const struct store_place *place);
/* Whether path @below the directory is there. */
bool stored_has(const char *below);

#endif
