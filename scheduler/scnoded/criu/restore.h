/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restore - the processes of a job's image in new namespaces, which init.h makes. Process 1 starts
 * a helper in the place of scstepd: scnoded under another name. It unpacks the job's files and
 * calls CRIU, whose root of processes gets number INIT_CHILD.
 */
#ifndef SCHEDULER_SCNODED_CRIU_RESTORE_H
#define SCHEDULER_SCNODED_CRIU_RESTORE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scnoded/criu/complaint.h"
#include "scheduler/scnoded/criu/criu.h"
#include "scheduler/scnoded/init.h"

#define RESTORE_NAME "openscore-restore"
#define RESTORE_LOG "restore.log"
#define RESTORE_TEXT_MAX (2 * COMPLAINT_MAX)

struct restore_order {
	const struct criu *criu;
	int images; /* directory that dump_job() has filled; its logs are written there */
	uint64_t job;
	const char *host;
};

/* Holds the init_plan.helper, which points into it: it must not be moved. */
struct restore {
	struct init_helper helper;
	char program[PATH_MAX + 32];
	const char *argv[2];
	char *env[3];
};

/* NULL, or a sentence of the caller's: @order->images is no image. */
char *restore_prepare(struct restore *ret, const struct restore_order *order);

/* The words of the helper so far, by the pipe of init_plan, behind struct init_told. */
struct restore_answer {
	size_t n;
	char text[RESTORE_TEXT_MAX];
};

/* Reads once. 1: call again when there is more; 0: that was all. */
int restore_hear(struct restore_answer *answer, int fd);
/*
 * After that: NULL, the processes run, or a sentence of the caller's. Then all that was restored is
 * killed, and process 1 ends.
 */
char *restore_judge(const struct restore_answer *answer, const struct restore_order *order);

/* The program of that name; its exit code. */
int restore_main(void);

#endif
