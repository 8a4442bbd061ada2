/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * images_work - what the errands of images.h do, in their children. Everything may block for long.
 */
#ifndef SCHEDULER_SCNODED_IMAGES_WORK_H
#define SCHEDULER_SCNODED_IMAGES_WORK_H

#include "scheduler/proto/order.h"
#include "scheduler/scnoded/criu/criu.h"
#include "scheduler/scnoded/holdings/survey.h"
#include "scheduler/scnoded/store/store.h"

/* Nothing of it is changed. Each kind of work needs the part of it that is named. */
struct images_work {
	struct store_place place; /* all */
	const char *host;
	const char *criu_said; /* to prepare: path of CRIU, NULL = that of PATH */
	const pid_t *members;  /* to prepare: the job's processes, whose memory is counted */
	size_t n_members;
	/* to write, and the last two to prepare: */
	struct criu criu;
	const struct survey_order *survey;
	const struct order *order;
	pid_t init; /* the host's number of the job's process 1 */
	const char *tmp;
	uint64_t keep; /* to commit: the oldest round that stays */
};

/*
 * Of type errand_kind.work, with struct images_work as input. CRIU works and there is room; says
 * where CRIU is, for images_work_criu().
 */
void images_work_prepare(const void *input, char *ret);
/* Says "" when the processes are dumped, and then the number of bytes that are on disk. */
void images_work_write(const void *input, char *ret);
void images_work_commit(const void *input, char *ret);
void images_work_drop(const void *input, char *ret);
/* All of the job on this host. */
void images_work_remove(const void *input, char *ret);

/*
 * Before a restart: CRIU and the processor suit, the images are whole, and files that have grown
 * since are cut. Says where CRIU is, as images_work_prepare(). Needs the order and @tmp.
 */
void images_work_verify(const void *input, char *ret);
/* Removes what @host has not committed, of all jobs. Says the directory's identity, if any. */
void images_work_clean(const void *input, char *ret);

/* Reads what images_work_prepare() has said. False: that is none of it. */
bool images_work_criu(const char *said, struct criu *ret);

#endif
