// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/restart.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scnoded/criu/restore.h"
#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/fork.h"
#include "scheduler/scnoded/images_work.h"
#include "scheduler/scnoded/init.h"
#include "scheduler/scnoded/nspid.h"
#include "scheduler/scnoded/parted.h"

#define VERIFY_S 3600    /* all images are read: a terabyte by a slow disk */
#define RESTORE_S 3600.0 /* and by CRIU */

struct restart {
	struct step *step;
	const struct restart_events *events;
	struct store_place place;
	struct errand *errand; /* that verifies; NULL: it is done */
	struct criu criu;
	ev_io told; /* what the helper of process 1 says */
	ev_timer limit;
	struct restore_answer answer;
	char *devices; /* NULL: those of the image */
};

void restart_forget(struct step *step)
{
	struct restart *restart = step->restart;

	if (!restart)
		return;
	errand_stop(restart->errand);
	ev_timer_stop(step->daemon->loop, &restart->limit);
	if (restart->told.fd >= 0) {
		ev_io_stop(step->daemon->loop, &restart->told);
		close(restart->told.fd);
	}
	free(restart->devices);
	free(restart);
	step->restart = NULL;
}

static void fail(struct step *step, char *text)
{
	const struct restart_events *events = step->restart->events;

	restart_forget(step);
	events->failed(step, text);
}

static struct restore_order order_of(const struct restart *restart, int images)
{
	return (struct restore_order){.criu = &restart->criu,
				      .images = images,
				      .job = restart->step->id,
				      .host = restart->step->daemon->name};
}

/* ---- the processes are there ---- */

/* All but process 1 and scstepd are ranks, or of ranks. NULL, or why they can't be. */
static char *group_ranks(struct step *step)
{
	struct pidns_table table = {0};
	int err = nspid_list(step, &table);

	for (size_t i = 0; !err && i < table.n; i++) {
		if (table.all[i].inner > INIT_CHILD)
			err = cgroup_put_rank(step->group, table.all[i].outer);
		/* One that has ended meanwhile is in no group, but the others are. */
		if (err == -ESRCH)
			err = 0;
	}
	pidns_fini(&table);
	if (!err)
		return NULL;
	return daemon_text("host %s: the restored ranks of job %" PRIu64
			   " cannot be put into their control group: %s",
			   step->daemon->name, step->id, strerror(-err));
}

static void on_told(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct restart *restart = watcher->data;
	struct step *step = restart->step;
	const struct restart_events *owner = restart->events;
	struct restore_order order = order_of(restart, -1);
	char *text;

	(void)events;
	if (restore_hear(&restart->answer, watcher->fd))
		return;
	ev_io_stop(loop, watcher);
	text = restore_judge(&restart->answer, &order);
	if (!text)
		text = group_ranks(step);
	if (text) {
		fail(step, text);
		return;
	}
	parted_restored(step, restart->devices);
	restart_forget(step);
	owner->restored(step);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct restart *restart = timer->data;

	(void)loop;
	(void)events;
	fail(restart->step,
	     daemon_text("host %s: CRIU has not restored job %" PRIu64 " within %.0f s; look after "
			 "the file systems of that host, then try again",
			 restart->step->daemon->name, restart->step->id, RESTORE_S));
}

/* ---- they are restored ---- */

static void on_verified(const char *text, void *owner)
{
	struct restart *restart = owner;
	struct step *step = restart->step;
	struct restore_order order;
	char *why = text ? daemon_text("%s", text) : NULL;
	int images, told = -1;

	restart->errand = NULL;
	images = why ? -EINVAL : store_open(&restart->place, true);
	if (!why && images < 0)
		why = daemon_text("host %s: the images of job %" PRIu64 " in %s: %s",
				  step->daemon->name, step->id, restart->place.directory,
				  strerror(-images));
	order = order_of(restart, images);
	if (!why)
		why = fork_restored(step, &order, &told);
	if (images >= 0)
		close(images);
	if (why) {
		fail(step, why);
		return;
	}
	ev_io_set(&restart->told, told, EV_READ);
	ev_io_start(step->daemon->loop, &restart->told);
	ev_timer_start(step->daemon->loop, &restart->limit);
	restart->events->forked(step);
}

/* ---- they are verified ---- */

static void on_criu(const char *text, void *owner)
{
	struct restart *restart = owner;

	images_work_criu(text, &restart->criu);
}

void restart_begin(struct step *step, uint64_t round, const char *devices,
		   const struct restart_events *events)
{
	static const struct errand_kind kind = {.name = "scnoded-verify",
						.cannot = "can't be restored",
						.doing = "reading its images",
						.has = "read its images",
						.limit_s = VERIFY_S,
						.work = images_work_verify,
						.said = on_criu};
	struct scnoded *d = step->daemon;
	struct restart *restart = calloc(1, sizeof(*restart));
	struct images_work work;

	step->restart = restart;
	if (restart) {
		restart->step = step;
		restart->events = events;
		restart->devices = devices ? strdup(devices) : NULL;
		restart->place = (struct store_place){.directory = d->options.checkpoints,
						      .job = step->id,
						      .round = round,
						      .index = (uint32_t)step->order->here};
		ev_init(&restart->told, on_told);
		ev_timer_init(&restart->limit, on_limit, RESTORE_S, 0);
		restart->limit.data = restart;
		restart->told.fd = -1;
		restart->told.data = restart;
		work = (struct images_work){.place = restart->place,
					    .host = d->name,
					    .criu_said = d->options.criu,
					    .order = step->order,
					    .tmp = step->tmp};
		restart->errand = errand_start(d->loop, &kind, step->id, d->name, &work,
					       on_verified, restart);
	}
	if (restart && restart->errand && !restart->devices == !devices)
		return;
	restart_forget(step);
	events->failed(step, daemon_text("host %s: no memory", d->name));
}
