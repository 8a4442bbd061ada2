/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * surveyed - a process for tests of survey.h: it and its children are the job, the test program is
 * the world outside.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCNODED_HOLDINGS_SURVEYED_H
#define TESTS_UNIT_SCHEDULER_SCNODED_HOLDINGS_SURVEYED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scnoded/holdings/restorable.h"
#include "scheduler/scnoded/holdings/survey.h"

#define REPORT_FD 900 /* is closed when the deed is done: a child of the job closes it, too */
#define KEPT_FD 901   /* is inherited */
#define RANK 3
#define LIMIT_MS 120000 /* a look that takes longer hangs */

extern struct surveyed {
	pid_t root;
	char directory[64]; /* for files of the tests */
	char text[8192];    /* the sentences of the last look, one a line */
	struct holdings h;
} surveyed;

/* Opens something; false with errno: this machine has no such thing. */
typedef bool (*deed)(void);

/* Whether it could do its deed; the reason of the skip is told. Always with surveyed_end(). */
bool surveyed_start(deed deed);
void surveyed_end(void);
char *surveyed_path(const char *name); /* in the directory; static */
int surveyed_look(const struct survey_order *order);
void surveyed_judge(void); /* looks before */
/* All that is refused is one thing of the rank, and this begins its clause. */
void surveyed_expect(const char *file, int line, deed deed, const char *clause);
void surveyed_nothing(const char *file, int line, deed deed);

#define refused(deed, clause) surveyed_expect(__FILE__, __LINE__, deed, clause)
#define fine(deed) surveyed_nothing(__FILE__, __LINE__, deed)

#endif
