/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restart - a job's part on this host begins from its images, and not from a program: they are
 * verified, files that have grown since are cut, and CRIU restores the processes in new namespaces.
 * Then scstepd is in the state of one that has parted (parted.h). For scnoded's loop.
 */
#ifndef SCHEDULER_SCNODED_RESTART_H
#define SCHEDULER_SCNODED_RESTART_H

#include "scheduler/scnoded/scnoded.h"

struct restart_events {
	/* Process 1 of the job is there: step->pid. */
	void (*forked)(struct step *step);
	/* The processes run, and scstepd has its signal to come back. */
	void (*restored)(struct step *step);
	/* @text is the callee's, which removes what there is of the job. */
	void (*failed)(struct step *step, char *text);
};

/*
 * From checkpoint @round. The groups and the record of @step are there. @devices: see
 * parted_restored(). Events follow.
 */
void restart_begin(struct step *step, uint64_t round, const char *devices,
		   const struct restart_events *events);
/* The job ends. */
void restart_forget(struct step *step);

#endif
