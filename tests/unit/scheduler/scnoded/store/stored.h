/* SPDX-License-Identifier: BSD-3-Clause */
/* stored - a directory of checkpoints for a test of store.h, with dumps that are made up. */
#ifndef TESTS_UNIT_SCHEDULER_SCNODED_STORE_STORED_H
#define TESTS_UNIT_SCHEDULER_SCNODED_STORE_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/scnoded/store/store.h"

#define JOB 7

extern const char *stored_in; /* where tests have their directories: /tmp */
extern char stored_base[64];  /* of the test */
extern char stored[80];       /* the directory of checkpoints, in it */

void stored_begin(void);
void stored_end(void);
/* In host @index's part of round @round. */
struct store_place stored_place(uint64_t round, uint32_t index);
/* The facts of a job that are known before its images are sealed. The order is to be freed. */
struct hostfile stored_about(const char *host);
/* stored/PATH, in a buffer of its own for each of the last four calls. */
const char *stored_path(const char *path);
bool stored_has(const char *path);
void stored_write(const char *path, const char *text);
/* Two files into the place, which has been begun. False: they could not be written. */
bool stored_dump(const struct store_place *place);
/* The steps up to the seal; the first sentence of them. */
char *stored_seal(const struct store_place *place, const char *host);
/* And the commit, which must succeed. */
void stored_commit(const struct store_place *place, const char *host, uint64_t keep);

/* A call that must succeed, and one whose sentence has these words. */
#define FINE(call) stored_fine(__LINE__, #call, (call))
#define WRONG(call, ...) stored_wrong(__LINE__, #call, (call), (const char *[]){__VA_ARGS__, 0})
void stored_fine(int line, const char *call, char *text);
void stored_wrong(int line, const char *call, char *text, const char *const *words);

#endif
