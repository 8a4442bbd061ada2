/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * images - the images of jobs on this host that are on their way to disk, by order of scored:
 * prepared, dumped when the job's scstepd has parted, then committed or dropped. Everything that
 * blocks is done by errands. They outlive the job: what was written of one that has ended is
 * dropped, too. For scnoded's loop.
 */
#ifndef SCHEDULER_SCNODED_IMAGES_H
#define SCHEDULER_SCNODED_IMAGES_H

#include <jansson.h>

#include "scheduler/scnoded/holdings/survey.h"
#include "scheduler/scnoded/scnoded.h"

/* The processes can go on. @text: NULL if they are written down, else why not. */
typedef void images_dumped(struct step *step, const char *text);

/* The identity of this host's directory of images, see store.h. */
typedef void images_identity(struct scnoded *d, const char *identity);

/*
 * scnoded has begun: images that one before it has written and not committed are removed. @known
 * follows if the directory can be used.
 */
void images_open(struct scnoded *d, images_identity *known);
/* A stage has ended, for scored: OP_IMAGED. @text: "" if well. */
typedef void images_tell(struct scnoded *d, uint64_t job, uint64_t round, const char *stage,
			 uint64_t bytes, const char *text);

/* OP_IMAGE for the job @step; NULL: it is not here. @tell follows, at once or later. */
void images_told(struct scnoded *d, struct step *step, const json_t *head, images_tell *tell);
/* Whether a dump is wanted when the job's scstepd has parted. */
bool images_are_wanted(const struct step *step);
/*
 * Writes the processes of @order down, while they stand still. @done comes from the loop, unless
 * the job ends before. After it the images go to the disk.
 */
void images_dump(struct step *step, const struct survey_order *order, images_dumped *done);
/*
 * The job's scstepd is back. If a dump was wanted, and there was none, scored is told so, and
 * nothing is wanted any more. @why: what was in the way; may be NULL.
 */
void images_missed(struct step *step, const char *why);
/* The link to scored was lost: it may never say what becomes of them. */
void images_drop_all(struct scnoded *d);
/* The job has ended. */
void images_forget(struct step *step);
/* scnoded ends, and leaves to the next one what is being written. */
void images_close(struct scnoded *d);

#endif
