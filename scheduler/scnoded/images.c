// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/images.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/head.h"
#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/images_work.h"
#include "scheduler/scnoded/record.h"
#include "scheduler/scnoded/turn.h"

#define DISK_S 120 /* to prepare, to commit and to drop */

enum stage {
	PREPARING,
	READY,
	DUMPING,
	WRITING, /* the processes go on */
	WRITTEN,
	COMMITTING,
	DROPPING
};

/* Of one checkpoint of one job. */
struct images {
	TAILQ_ENTRY(images) all;
	struct scnoded *daemon;
	struct step *step; /* NULL: the job has ended */
	images_tell *tell;
	struct store_place place;
	enum stage stage;
	struct errand *errand; /* NULL: none is under way */
	bool is_unwanted;      /* to be dropped once the errand has ended */
	images_dumped *dumped; /* while they are dumped */
	struct criu criu;      /* once they are prepared */
	uint64_t keep;         /* the oldest checkpoint that stays */
	uint64_t bytes;        /* once they are written */
};

static const char *const stage_words[] =
	{[PREPARING] = "prepare", [DUMPING] = "dump", [WRITING] = "dump", [COMMITTING] = "commit"};

static void report(const struct images *images, const char *text)
{
	images->tell(images->daemon, images->place.job, images->place.round,
		     stage_words[images->stage], images->bytes, text ? text : "");
}

static struct images *find(const struct scnoded *d, uint64_t job, uint64_t round)
{
	struct images *images;

	TAILQ_FOREACH(images, &d->images, all)
		if (images->place.job == job && images->place.round == round)
			return images;
	return NULL;
}

static void forget(struct images *images)
{
	TAILQ_REMOVE(&images->daemon->images, images, all);
	free(images);
}

/* False: out of memory. */
static bool begin(struct images *images, const struct errand_kind *kind, struct images_work *work,
		  errand_done *done)
{
	work->place = images->place;
	work->host = images->daemon->name;
	images->errand = errand_start(images->daemon->loop, kind, images->place.job,
				      images->daemon->name, work, done, images);
	return images->errand;
}

/* ---- dropped ---- */

static void on_dropped(const char *text, void *owner)
{
	if (text)
		daemon_say("%s", text);
	forget(owner);
}

static void drop_by(struct images *images, const struct errand_kind *kind)
{
	struct images_work work = {.keep = 0};

	images->stage = DROPPING;
	if (!begin(images, kind, &work, on_dropped))
		forget(images);
}

static void drop(struct images *images)
{
	static const struct errand_kind kind = {.name = "scnoded-drop",
						.cannot = "leaves images of a checkpoint behind",
						.doing = "dropping them",
						.has = "dropped them",
						.limit_s = DISK_S,
						.work = images_work_drop};

	drop_by(images, &kind);
}

/* Whether it was wanted no more, and is being dropped. */
static bool is_dropped(struct images *images)
{
	if (images->is_unwanted)
		drop(images);
	return images->is_unwanted;
}

static void drop_soon(struct images *images)
{
	images->is_unwanted = true;
	if (!images->errand)
		drop(images);
}

/* All that are neither kept nor dropped yet, of @step or (NULL) of all jobs. */
static void drop_open(struct scnoded *d, const struct step *step)
{
	struct images *images, *next;

	for (images = TAILQ_FIRST(&d->images); images; images = next) {
		next = TAILQ_NEXT(images, all);
		if ((!step || images->step == step) && images->stage != COMMITTING &&
		    images->stage != DROPPING)
			drop_soon(images);
	}
}

static struct images *add(struct scnoded *d, uint64_t job, uint64_t round, images_tell *tell)
{
	struct images *images = calloc(1, sizeof(*images));

	if (!images)
		return NULL;
	images->daemon = d;
	images->tell = tell;
	images->place = (struct store_place){
		.directory = d->options.checkpoints, .job = job, .round = round};
	TAILQ_INSERT_TAIL(&d->images, images, all);
	return images;
}

/* Of a job that has ended. */
static void remove_all(struct scnoded *d, uint64_t job, uint64_t round, images_tell *tell)
{
	static const struct errand_kind kind = {.name = "scnoded-remove",
						.cannot = "leaves images of checkpoints behind",
						.doing = "removing them",
						.has = "removed them",
						.limit_s = DISK_S,
						.work = images_work_remove};
	struct images *images = add(d, job, round, tell);

	if (images)
		drop_by(images, &kind);
}

/* ---- prepared ---- */

static void on_criu(const char *text, void *owner)
{
	struct images *images = owner;

	images_work_criu(text, &images->criu);
}

static void on_prepared(const char *text, void *owner)
{
	struct images *images = owner;

	images->errand = NULL;
	report(images, text);
	images->stage = READY;
	images->is_unwanted |= text != NULL;
	is_dropped(images);
}

/* NULL, or why not. */
static const char *prepare(struct step *step, uint64_t round, images_tell *tell)
{
	static const struct errand_kind kind = {.name = "scnoded-prepare",
						.cannot = "can't be written to disk",
						.doing = "preparing",
						.has = "prepared",
						.limit_s = DISK_S,
						.work = images_work_prepare,
						.said = on_criu};
	struct scnoded *d = step->daemon;
	struct images *images = add(d, step->id, round, tell);
	pid_t *members = NULL;
	ssize_t n = step->group ? cgroup_pids(step->group, &members) : 0;
	struct images_work work = {.criu_said = d->options.criu,
				   .init = step->pid,
				   .tmp = step->tmp,
				   .members = members,
				   .n_members = n > 0 ? (size_t)n : 0};
	bool has_begun = false;

	if (images) {
		images->step = step;
		images->place.index = (uint32_t)step->order->here;
		has_begun = begin(images, &kind, &work, on_prepared);
	}
	if (n > 0)
		free(members);
	if (images && !has_begun)
		forget(images);
	return has_begun ? NULL : "its scnoded has no memory";
}

/* ---- dumped and written ---- */

static struct images *find_ready(const struct step *step)
{
	struct images *images;

	TAILQ_FOREACH(images, &step->daemon->images, all)
		if (images->step == step && images->stage == READY && !images->is_unwanted)
			return images;
	return NULL;
}

bool images_are_wanted(const struct step *step)
{
	return find_ready(step);
}

void images_missed(struct step *step, const char *why)
{
	struct images *images = find_ready(step);

	if (!images)
		return;
	images->stage = DUMPING;
	report(images, why ? why : "the ranks go on, and were not written down");
	drop_soon(images);
}

/* The switch thread may freeze the job again. */
static void go_on(struct images *images, const char *text)
{
	struct step *step = images->step;

	images->stage = WRITING;
	/* One that is being cleared away has no groups any more. */
	if (!step || step->is_leaving || !step->group)
		return;
	record_mark(step->daemon->options.run, step->id, RECORD_DUMPED, false);
	if (turn_take(step->daemon->turn, step->id, step->group))
		daemon_say("job %" PRIu64 ": no memory; it is not frozen any more", step->id);
	images->dumped(step, text);
}

static void on_progress(const char *text, void *owner)
{
	struct images *images = owner;

	if (images->stage == DUMPING)
		go_on(images, NULL);
	else
		images->bytes = strtoull(text, NULL, 10);
}

static void on_written(const char *text, void *owner)
{
	struct images *images = owner;

	images->errand = NULL;
	if (images->stage == DUMPING)
		go_on(images, text ? text : "nothing was written");
	report(images, text);
	images->stage = WRITTEN;
	images->is_unwanted |= text != NULL;
	is_dropped(images);
}

void images_dump(struct step *step, const struct survey_order *order, images_dumped *done)
{
	/* A CRIU that is killed takes the job with it. */
	static const struct errand_kind kind = {.name = "scnoded-dump",
						.cannot = "can't be written to disk",
						.doing = "writing",
						.has = "written",
						.work = images_work_write,
						.said = on_progress};
	struct images *images = find_ready(step);
	struct images_work work = {
		.survey = order, .order = step->order, .init = step->pid, .tmp = step->tmp};

	work.criu = images->criu;
	images->stage = DUMPING;
	images->dumped = done;
	/* A scnoded that is started anew meanwhile leaves the job to CRIU. */
	record_mark(step->daemon->options.run, step->id, RECORD_DUMPED, true);
	/* A group that is frozen under a CRIU has both stand still. */
	turn_drop(step->daemon->turn, step->id);
	if (!begin(images, &kind, &work, on_written)) {
		go_on(images, "its scnoded has no memory");
		drop(images);
	}
}

/* ---- committed ---- */

static void on_committed(const char *text, void *owner)
{
	struct images *images = owner;

	images->errand = NULL;
	report(images, text);
	if (text)
		drop(images);
	else
		forget(images);
}

static const char *commit(struct images *images)
{
	static const struct errand_kind kind = {.name = "scnoded-commit",
						.cannot = "can't keep its checkpoint",
						.doing = "committing",
						.has = "committed",
						.limit_s = DISK_S,
						.work = images_work_commit};
	struct images_work work = {.keep = images->keep};

	images->stage = COMMITTING;
	return begin(images, &kind, &work, on_committed) ? NULL : "its scnoded has no memory";
}

/* ---- what is left of an earlier scnoded ---- */

struct clearing {
	struct errand *errand;
	images_identity *known;
};

static void on_identity(const char *text, void *owner)
{
	struct scnoded *d = owner;

	d->clearing->known(d, text);
}

static void on_cleaned(const char *text, void *owner)
{
	struct scnoded *d = owner;

	free(d->clearing);
	d->clearing = NULL;
	if (text)
		daemon_say("%s", text);
}

void images_open(struct scnoded *d, images_identity *known)
{
	static const struct errand_kind kind = {.name = "scnoded-clean",
						.cannot = "leaves images of checkpoints behind",
						.doing = "removing them",
						.has = "removed them",
						.limit_s = DISK_S,
						.work = images_work_clean,
						.said = on_identity};
	struct images_work work = {.place = {.directory = d->options.checkpoints}, .host = d->name};

	d->clearing = calloc(1, sizeof(*d->clearing));
	if (!d->clearing)
		return;
	d->clearing->known = known;
	d->clearing->errand = errand_start(d->loop, &kind, 0, d->name, &work, on_cleaned, d);
	if (!d->clearing->errand) {
		free(d->clearing);
		d->clearing = NULL;
	}
}

/* ---- what scored says ---- */

/* NULL, or why not. */
static const char *obey(struct scnoded *d, struct step *step, const json_t *head, images_tell *tell)
{
	struct images *images = find(d, head_number(head, "id"), head_number(head, "round"));
	const char *stage = head_text(head, "stage");

	if (!strcmp(stage, "prepare")) {
		if (d->clearing)
			return "its scnoded has just begun";
		if (!step || step->is_leaving || images)
			return "the job does not run there, or is being written already";
		/* Of a round that scored has forgotten, as it was started anew. */
		drop_open(d, step);
		return prepare(step, head_number(head, "round"), tell);
	}
	if (!strcmp(stage, "remove")) {
		remove_all(d, head_number(head, "id"), head_number(head, "round"), tell);
		return NULL;
	}
	if (!strcmp(stage, "abandon")) {
		if (images && images->stage != DROPPING)
			drop_soon(images);
		return NULL;
	}
	if (!images || images->stage != WRITTEN)
		return "its scnoded was started anew, and has dropped what was written";
	images->keep = head_number(head, "keep");
	return commit(images);
}

void images_told(struct scnoded *d, struct step *step, const json_t *head, images_tell *tell)
{
	const char *why = obey(d, step, head, tell);
	char *text;

	if (!why)
		return;
	text = daemon_text("host %s: job %" PRIu64 " can't be written to disk: %s; try again",
			   d->name, head_number(head, "id"), why);
	tell(d, head_number(head, "id"), head_number(head, "round"), head_text(head, "stage"), 0,
	     text);
	free(text);
}

void images_drop_all(struct scnoded *d)
{
	drop_open(d, NULL);
}

void images_forget(struct step *step)
{
	struct images *images;

	drop_open(step->daemon, step);
	TAILQ_FOREACH(images, &step->daemon->images, all)
		if (images->step == step)
			images->step = NULL;
}

void images_close(struct scnoded *d)
{
	struct images *images;

	if (d->clearing)
		errand_stop(d->clearing->errand);
	free(d->clearing);
	while ((images = TAILQ_FIRST(&d->images))) {
		errand_stop(images->errand);
		forget(images);
	}
}
