// SPDX-License-Identifier: BSD-3-Clause
/*
 * steps_callers - the part of steps.h for those who ask for a job by its number: connections wait
 * until its scstepd is there to take them.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scnoded/steps.h"

struct step *steps_find(const struct scnoded *d, uint64_t id)
{
	struct step *step;

	TAILQ_FOREACH(step, &d->steps, all)
		if (step->id == id)
			return step;
	return NULL;
}

static void show_out(struct scnoded *d, struct pending *pending)
{
	TAILQ_REMOVE(&d->pending, pending, all);
	close(pending->fd);
	free(pending);
}

void steps_show_out_late(struct scnoded *d)
{
	double now = clock_monotonic_s();
	struct pending *pending, *next;

	for (pending = TAILQ_FIRST(&d->pending); pending; pending = next) {
		next = TAILQ_NEXT(pending, all);
		if (pending->until < now)
			show_out(d, pending);
	}
}

void steps_show_out(struct scnoded *d, uint64_t job)
{
	struct pending *pending, *next;

	for (pending = TAILQ_FIRST(&d->pending); pending; pending = next) {
		next = TAILQ_NEXT(pending, all);
		if (!job || pending->job == job)
			show_out(d, pending);
	}
}

static void wait_for_job(struct scnoded *d, int fd, uint64_t job, double until)
{
	struct pending *pending = calloc(1, sizeof(*pending)), *each;
	size_t n = 0;

	TAILQ_FOREACH(each, &d->pending, all)
		n++;
	if (!pending) {
		close(fd);
		return;
	}
	/*
	 * Nobody knows yet who they are: whoever comes last has the best chance to be an honest
	 * one.
	 */
	if (n && files_full(n, GUESTS_MAX))
		show_out(d, TAILQ_FIRST(&d->pending));
	*pending = (struct pending){.fd = fd, .job = job, .until = until};
	TAILQ_INSERT_TAIL(&d->pending, pending, all);
}

void steps_pending(struct scnoded *d, int fd, uint64_t job)
{
	struct step *step = steps_find(d, job);

	if (!step || (!step->control && !step->is_leaving)) {
		/* A scstepd without links comes back; others may have come back before it. */
		wait_for_job(d, fd, job,
			     step && step->parted ? INFINITY
						  : clock_monotonic_s() + PENDING_WAIT_S);
		return;
	}
	/* A scstepd that does not read gets no connections. */
	if (step->control && !link_is_full(step->control))
		link_send_fds(step->control, json_pack("{s:s}", "op", OP_DOOR), &fd, 1);
	close(fd);
}

void steps_invite(const struct step *step)
{
	struct scnoded *d = step->daemon;
	struct pending *pending, *next;

	for (pending = TAILQ_FIRST(&d->pending); pending; pending = next) {
		next = TAILQ_NEXT(pending, all);
		if (pending->job != step->id)
			continue;
		TAILQ_REMOVE(&d->pending, pending, all);
		steps_pending(d, pending->fd, pending->job);
		free(pending);
	}
}
