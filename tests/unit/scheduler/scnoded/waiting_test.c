// SPDX-License-Identifier: BSD-3-Clause
/* Tests of what a beat concludes from counters, and of how many names it tries for that. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmcore/util/pidns.h"
#include "pmcore/util/stats.h"
#include "scheduler/scnoded/waiting.h"
#include "tests/harness/nschild.h"
#include "tests/harness/tap.h"

static struct stats *open_context(uint32_t node)
{
	struct stats *stats = NULL;

	if (is_int(stats_create(node, &stats), 0))
		stats_page(stats)->n_links = 1;
	return stats;
}

static void turn(struct stats *stats, uint64_t looks, uint64_t messages)
{
	stats_page(stats)->looks += looks;
	stats_page(stats)->links[0].rx_messages += messages;
}

/* The job whose only process is this one. */
static struct waiting_job here(const pid_t *pid, uint32_t ranks)
{
	return (struct waiting_job){
		.uid = geteuid(), .pids = pid, .n_pids = 1, .ranks = ranks, .names = WAITING_NAMES};
}

TAP_TEST(waiting_look__looks_and_no_messages)
{
	const pid_t pid = getpid();
	struct waiting_job job = here(&pid, 2);
	struct stats *a = open_context(0), *b = open_context(1);
	struct waiting *w = waiting_open();

	must(w);
	ok(!waiting_look(w, &job)); /* nothing to compare with */
	turn(a, 1, 0);
	turn(b, 1, 0);
	ok(waiting_look(w, &job));
	turn(a, 1, 0);
	ok(!waiting_look(w, &job)); /* b computes */
	turn(a, 1, 0);
	turn(b, 1, 1);
	ok(!waiting_look(w, &job)); /* b has received */
	turn(a, 1, 0);
	turn(b, 1, 0);
	ok(waiting_look(w, &job));
	job.ranks = 3;
	turn(a, 1, 0);
	turn(b, 1, 0);
	ok(!waiting_look(w, &job)); /* one rank has no context */
	stats_destroy(a);
	stats_destroy(b);
	waiting_close(w);
	waiting_close(NULL);
}

TAP_TEST(waiting_look__context_after_a_hole)
{
	const pid_t pid = getpid();
	struct waiting_job job = here(&pid, 1);
	struct stats *a = open_context(0), *b = open_context(1);
	struct waiting *w = waiting_open();

	must(w);
	waiting_look(w, &job);
	stats_destroy(a);
	turn(b, 1, 0);
	ok(waiting_look(w, &job));
	a = open_context(2); /* in the place of the first */
	turn(b, 1, 0);
	ok(!waiting_look(w, &job)); /* it is new */
	turn(a, 1, 0);
	turn(b, 1, 0);
	ok(waiting_look(w, &job));
	stats_destroy(a);
	stats_destroy(b);
	waiting_close(w);
}

TAP_TEST(waiting_look__nobody_there)
{
	struct waiting_job job = {.ranks = 0, .names = WAITING_NAMES};
	struct waiting *w = waiting_open();

	must(w);
	ok(!waiting_look(w, &job));
	ok(!waiting_look(w, &job));
	waiting_close(w);
}

/* Names of strangers where the job's own would be: they are passed, and make no hole. */
TAP_TEST(waiting_look__names_taken_by_another_user)
{
	const pid_t pid = getpid();
	struct waiting_job job = here(&pid, 1);
	struct waiting *w = waiting_open();
	struct stats *stats;
	char path[96];

	if (geteuid() != 0) {
		tap_skip("needs root to give files away");
		waiting_close(w);
		return;
	}
	must(w);
	for (int n = 0; n < 20; n++) {
		snprintf(path, sizeof(path), "/dev/shm/openscore-stat.0.%d.%d", pid, n);
		close(open(path, O_CREAT | O_WRONLY, 0644));
		is_int(chown(path, 65534, 65534), 0);
	}
	stats = open_context(0);
	waiting_look(w, &job);
	turn(stats, 1, 0);
	ok(waiting_look(w, &job));
	turn(stats, 1, 0);
	job.names = 20 + WAITING_FILE - 1; /* those of strangers and not quite one file */
	ok(!waiting_look(w, &job));
	stats_destroy(stats);
	for (int n = 0; n < 20; n++) {
		snprintf(path, sizeof(path), "/dev/shm/openscore-stat.0.%d.%d", pid, n);
		unlink(path);
	}
	waiting_close(w);
}

/*
 * A job with more processes than a beat has time for costs no more than its share, and is not said
 * to wait.
 */
TAP_TEST(waiting_look__more_processes_than_names)
{
	enum { PIDS = 100 };
	const uint32_t before = (uint32_t)getpid();
	pid_t pids[PIDS];
	struct stats *stats = open_context(0);
	struct waiting *w = waiting_open();
	struct waiting_job job = {
		.uid = geteuid(), .pids = pids, .n_pids = PIDS, .ranks = 1, .names = WAITING_NAMES};

	must(w);
	for (int i = 0; i < PIDS; i++)
		pids[i] = (pid_t)before + (i ? 0x10000000 + i : 0);
	waiting_look(w, &job);
	turn(stats, 1, 0);
	ok(waiting_look(w, &job));
	job.names = 64;
	turn(stats, 1, 0);
	ok(!waiting_look(w, &job));
	job.names = WAITING_NAMES;
	turn(stats, 1, 0);
	ok(waiting_look(w, &job)); /* the first one was looked at all the same */
	stats_destroy(stats);
	waiting_close(w);
}

static void open_inside(void *arg)
{
	struct stats *stats;

	(void)arg;
	setenv(STATS_VARIABLE, "/dev/shm", 1);
	if (stats_create(1, &stats))
		_exit(1);
}

/* The page of process 1 of namespace @ns; NULL: it can't be had. */
static struct stats_page *page_inside(uint64_t ns)
{
	struct stats_page *page;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/openscore-stat.%u.1.0@%llu", (unsigned int)geteuid(),
		 (unsigned long long)ns);
	fd = open(path, O_RDWR | O_CLOEXEC);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

TAP_TEST(waiting_look__in_a_pid_namespace)
{
	struct stats_page *page;
	struct waiting *w = waiting_open();
	struct waiting_job job;
	struct nschild child;

	must(w);
	if (!nschild_begin(&child, open_inside, NULL))
		return;
	job = here(&child.pid, 1);
	job.ns = pidns_of(child.pid);
	page = page_inside(job.ns);
	must(page);
	ok(!waiting_look(w, &job));
	page->looks++;
	ok(waiting_look(w, &job));
	job.ns = 0;
	page->looks++;
	ok(!waiting_look(w, &job));
	munmap(page, sizeof(*page));
	nschild_end(&child);
	waiting_close(w);
}
