// SPDX-License-Identifier: BSD-3-Clause
/*
 * images: a job whose images are prepared, dumped, committed, dropped. Errands are fakes, which end
 * when the test says so; what scored is told is kept.
 */
#include "scheduler/scnoded/images.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/errand.h"
#include "scheduler/scnoded/images_work.h"
#include "scheduler/scnoded/record.h"
#include "tests/harness/tap.h"

#define JOB 7

struct errand {
	const struct errand_kind *kind;
	errand_done *done;
	void *owner;
};

static struct {
	struct scnoded d;
	struct step step;
	struct order order;
	struct errand errand; /* the last one */
	bool is_busy;         /* it has not ended */
	bool has_no_memory;   /* for an errand */
	bool is_marked;       /* as one that is being dumped */
	char heard[600];      /* errands, what scored is told, and what the job's turn does */
} t;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	size_t n = strlen(t.heard);
	va_list args;

	va_start(args, format);
	vsnprintf(t.heard + n, sizeof(t.heard) - n, format, args);
	va_end(args);
}

void daemon_say(const char *format, ...)
{
	va_list args;
	char line[200];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	note("log %s; ", line);
}

char *daemon_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	ok(vasprintf(&text, format, args) >= 0);
	va_end(args);
	return text;
}

void record_mark(const char *run, uint64_t id, const char *mark, bool is_set)
{
	is_str(mark, RECORD_DUMPED);
	ok(t.is_marked != is_set);
	t.is_marked = is_set;
}

struct errand *errand_start(struct ev_loop *loop, const struct errand_kind *kind, uint64_t job,
			    const char *host, const void *input, errand_done *done, void *owner)
{
	const struct images_work *work = input;

	if (t.has_no_memory)
		return NULL;
	t.is_busy = true;
	t.errand = (struct errand){kind, done, owner};
	is_int(work->place.job, job);
	is_str(work->place.directory, "/images");
	is_str(host, "n1");
	note("%s %d; ", kind->name, (int)work->place.round);
	if (work->keep)
		note("keep %d; ", (int)work->keep);
	if (work->survey)
		is_str(work->criu.program, "/usr/sbin/criu");
	return &t.errand;
}

void errand_stop(struct errand *errand)
{
	if (errand)
		note("stop; ");
	t.is_busy = false;
}

void images_work_prepare(const void *input, char *ret)
{
}

void images_work_write(const void *input, char *ret)
{
}

void images_work_commit(const void *input, char *ret)
{
}

void images_work_drop(const void *input, char *ret)
{
}

void images_work_remove(const void *input, char *ret)
{
}

void images_work_clean(const void *input, char *ret)
{
}

bool images_work_criu(const char *said, struct criu *ret)
{
	strcpy(ret->program, said);
	return true;
}

int turn_take(struct turn *turn, uint64_t id, struct cgroup *group)
{
	note("may be frozen; ");
	return 0;
}

void turn_drop(struct turn *turn, uint64_t id)
{
	note("thawed; ");
}

ssize_t cgroup_pids(const struct cgroup *group, pid_t **pids)
{
	*pids = NULL;
	return 0;
}

static void tell(struct scnoded *d, uint64_t id, uint64_t round, const char *stage, uint64_t bytes,
		 const char *text)
{
	is_int(id, JOB);
	note("told %s %d: %d bytes%s%s; ", stage, (int)round, (int)bytes, *text ? ", " : "", text);
}

static void heard(const char *want)
{
	is_str(t.heard, want);
	*t.heard = 0;
}

static void on_dumped(struct step *step, const char *text)
{
	ok(step == &t.step);
	note("goes on%s%s; ", text ? ": " : "", text ? text : "");
}

static void open_all(void)
{
	memset(&t, 0, sizeof(t));
	TAILQ_INIT(&t.d.images);
	t.d.options.checkpoints = "/images";
	strcpy(t.d.name, "n1");
	t.step.daemon = &t.d;
	t.step.id = JOB;
	t.step.order = &t.order;
	t.step.group = (struct cgroup *)&t;
}

static void close_all(void)
{
	ok(TAILQ_EMPTY(&t.d.images));
	images_close(&t.d);
}

/* With errands that have not ended. */
static void close_lost(void)
{
	images_close(&t.d);
}

static void order(const char *stage, uint64_t round)
{
	json_t *head = json_pack("{s:i, s:I, s:s, s:i}", "id", JOB, "round", (json_int_t)round,
				 "stage", stage, "keep", 1);

	images_told(&t.d, t.step.id ? &t.step : NULL, head, tell);
	json_decref(head);
}

static void ends(const char *text)
{
	struct errand errand = t.errand;

	ok(t.is_busy);
	t.is_busy = false;
	errand.done(text, errand.owner);
}

static void says(const char *text)
{
	t.errand.kind->said(text, t.errand.owner);
}

static void prepared(void)
{
	order("prepare", 2);
	heard("scnoded-prepare 2; ");
	ok(!images_are_wanted(&t.step));
	says("/usr/sbin/criu");
	ends(NULL);
	heard("told prepare 2: 0 bytes; ");
	ok(images_are_wanted(&t.step));
}

static void dump(void)
{
	struct survey_order survey = {.root = 1};

	images_dump(&t.step, &survey, on_dumped);
}

static void written(void)
{
	prepared();
	dump();
	heard("thawed; scnoded-dump 2; ");
	ok(!images_are_wanted(&t.step));
	says("");
	heard("may be frozen; goes on; ");
	says("4096");
	ends(NULL);
	heard("told dump 2: 4096 bytes; ");
}

TAP_TEST(images__go_well)
{
	open_all();
	written();
	order("commit", 2);
	heard("scnoded-commit 2; keep 1; ");
	ends(NULL);
	heard("told commit 2: 4096 bytes; ");
	close_all();
}

TAP_TEST(images__can_not_be_prepared)
{
	open_all();
	order("prepare", 2);
	*t.heard = 0;
	ends("no criu");
	heard("told prepare 2: 0 bytes, no criu; scnoded-drop 2; ");
	ok(!images_are_wanted(&t.step));
	ends(NULL);
	close_all();
}

TAP_TEST(images__can_not_be_dumped)
{
	open_all();
	prepared();
	dump();
	*t.heard = 0;
	ends("an io_uring");
	heard("may be frozen; goes on: an io_uring; told dump 2: 0 bytes, an io_uring; "
	      "scnoded-drop 2; ");
	order("abandon", 2);
	heard("");
	ends("a disk error");
	heard("log a disk error; ");
	close_all();
}

/* The job goes on already. */
TAP_TEST(images__disk_is_full)
{
	open_all();
	prepared();
	dump();
	says("");
	*t.heard = 0;
	ends("disk full");
	heard("told dump 2: 0 bytes, disk full; scnoded-drop 2; ");
	ends(NULL);
	close_all();
}

TAP_TEST(images__can_not_be_committed)
{
	open_all();
	written();
	order("commit", 2);
	*t.heard = 0;
	ends("disk full");
	heard("told commit 2: 4096 bytes, disk full; scnoded-drop 2; ");
	ends(NULL);
	close_all();
}

/* CRIU is never disturbed: what it has written is dropped when it has ended. */
TAP_TEST(images__unwanted_while_they_are_dumped)
{
	open_all();
	prepared();
	dump();
	*t.heard = 0;
	order("abandon", 2);
	heard("");
	says("");
	ends(NULL);
	heard("may be frozen; goes on; told dump 2: 0 bytes; scnoded-drop 2; ");
	ends(NULL);
	close_all();
}

TAP_TEST(images__unwanted_when_prepared)
{
	open_all();
	prepared();
	order("abandon", 2);
	heard("scnoded-drop 2; ");
	ok(!images_are_wanted(&t.step));
	ends(NULL);
	order("abandon", 2);
	heard("");
	close_all();
}

TAP_TEST(images_forget__while_they_are_dumped)
{
	open_all();
	prepared();
	dump();
	*t.heard = 0;
	images_forget(&t.step);
	t.step.id = 0;
	heard("");
	ends("CRIU has failed");
	heard("told dump 2: 0 bytes, CRIU has failed; scnoded-drop 2; ");
	ends(NULL);
	close_all();
}

TAP_TEST(images_forget__written)
{
	open_all();
	written();
	images_forget(&t.step);
	heard("scnoded-drop 2; ");
	ends(NULL);
	close_all();
}

TAP_TEST(images__of_a_job_that_has_ended)
{
	open_all();
	t.step.id = 0;
	order("remove", 5);
	heard("scnoded-remove 5; ");
	ends(NULL);
	order("prepare", 6);
	heard("told prepare 6: 0 bytes, host n1: job 7 can't be written to disk: the job does not "
	      "run there, or is being written already; try again; ");
	close_all();
}

TAP_TEST(images__unknown)
{
	open_all();
	order("commit", 2);
	heard("told commit 2: 0 bytes, host n1: job 7 can't be written to disk: its scnoded was "
	      "started anew, and has dropped what was written; try again; ");
	close_all();
}

TAP_TEST(images__no_memory)
{
	open_all();
	t.has_no_memory = true;
	order("prepare", 2);
	heard("told prepare 2: 0 bytes, host n1: job 7 can't be written to disk: its scnoded has "
	      "no memory; try again; ");
	t.has_no_memory = false;
	prepared();
	t.has_no_memory = true;
	dump();
	heard("thawed; may be frozen; goes on: its scnoded has no memory; ");
	close_all();
}

TAP_TEST(images_close__while_one_is_written)
{
	open_all();
	prepared();
	dump();
	*t.heard = 0;
	images_close(&t.d);
	heard("stop; ");
	close_all();
}

static void on_identity(struct scnoded *d, const char *identity)
{
	ok(d == &t.d);
	note("identity %s; ", identity);
}

/* Nothing is written while an earlier one's is removed: that is told apart by the host only. */
TAP_TEST(images_open__what_is_left)
{
	open_all();
	images_open(&t.d, on_identity);
	heard("scnoded-clean 0; ");
	t.errand.kind->said("0a1b", t.errand.owner);
	heard("identity 0a1b; ");
	order("prepare", 2);
	heard("told prepare 2: 0 bytes, host n1: job 7 can't be written to disk: its scnoded has "
	      "just begun; try again; ");
	ends("a disk error");
	heard("log a disk error; ");
	prepared();
	order("abandon", 2);
	ends(NULL);
	close_all();
}

/* A round of a scored that was started anew since. */
TAP_TEST(images__of_an_older_round)
{
	open_all();
	prepared();
	order("prepare", 3);
	heard("scnoded-drop 2; scnoded-prepare 3; ");
	close_lost();
}

TAP_TEST(images_drop_all__scored_is_lost)
{
	open_all();
	written();
	images_drop_all(&t.d);
	heard("scnoded-drop 2; ");
	images_drop_all(&t.d);
	heard("");
	ends(NULL);
	close_all();
}

/* scstepd came back, and nobody has looked at its processes. */
TAP_TEST(images_missed__no_dump)
{
	open_all();
	images_missed(&t.step, NULL);
	prepared();
	images_missed(&t.step, NULL);
	heard("told dump 2: 0 bytes, the ranks go on, and were not written down; scnoded-drop 2; ");
	ends(NULL);
	prepared();
	images_missed(&t.step, "a socket");
	heard("told dump 2: 0 bytes, a socket; scnoded-drop 2; ");
	ends(NULL);
	written();
	images_missed(&t.step, NULL);
	heard("");
	images_forget(&t.step);
	ends(NULL);
	close_all();
}

/* Its groups are gone, and so is its place among those that take turns. */
TAP_TEST(images__dumped_while_the_job_is_cleared_away)
{
	open_all();
	prepared();
	dump();
	*t.heard = 0;
	t.step.is_leaving = true;
	t.step.group = NULL;
	ends("CRIU has failed");
	heard("told dump 2: 0 bytes, CRIU has failed; scnoded-drop 2; ");
	ends(NULL);
	close_all();
}

TAP_TEST(images_open__scnoded_ends_meanwhile)
{
	open_all();
	images_open(&t.d, on_identity);
	heard("scnoded-clean 0; ");
	images_close(&t.d);
	heard("stop; ");
	t.has_no_memory = true;
	images_open(&t.d, on_identity);
	ok(!t.d.clearing);
	close_all();
}
