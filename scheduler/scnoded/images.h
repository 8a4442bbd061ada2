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

/* scnoded has begun: what one before it has written of jobs, and not committed, is removed. */
void images_open(struct scnoded *d);
/* OP_IMAGE. The answer is OP_IMAGED, at once or later. */
void images_told(struct scnoded *d, const json_t *head);
/* Whether a dump is wanted when the job's scstepd has parted. */
bool images_are_wanted(const struct step *step);
/*
 * Writes the processes of @order down, while they stand still. @done comes from the loop, unless
 * the job ends before. What is written goes to the disk after it.
 */
void images_dump(struct step *step, const struct survey_order *order, images_dumped *done);
/* The job has ended. */
void images_forget(struct step *step);
/* scnoded ends. What is being written is left to the next one. */
void images_close(struct scnoded *d);

#endif
