/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standstill_world - one host of two, with two ranks; the test writes their slots of the page, and
 * says what all hosts have told. For one file of a test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_STANDSTILL_WORLD_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_STANDSTILL_WORLD_H

#include "scheduler/scstepd/standstill.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/collective.h"
#include "scheduler/scstepd/leader.h"
#include "scheduler/scstepd/standstill_part.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

static struct {
	struct rank ranks[2];
	struct standstill *standstill;
	struct suspend_page *page;
	size_t size;
	char dir[32];
	/* of collective_join() */
	unsigned int n_joins;
	char *part;
	size_t part_size;
	int join_error;
	collective_done *done;
	void *arg;
	/* of told() */
	unsigned int n_answers;
	bool is_changed;
	char text[STANDSTILL_WHY + 64];
	double stood_s;
	unsigned int n_stops;
	char asked[40]; /* of the host: "part go_away stay " */
} t;

size_t ranks_count(const struct ranks *table)
{
	return 2;
}

struct rank *ranks_at(const struct ranks *table, size_t i)
{
	return &t.ranks[i];
}

char *collective_set(const struct worlds *worlds, struct collective_rank *ranks, size_t n)
{
	is_int(n, 1);
	is_int(ranks[0].rank, COLLECTIVE_ALL_RANKS);
	return strdup("0");
}

int collective_join(struct collectives *collectives, const char *op, const char *set,
		    const void *data, size_t size, collective_done *done, void *arg)
{
	is_str(op, OP_STOOD);
	is_str(set, "0");
	t.n_joins++;
	free(t.part);
	t.part = malloc(size);
	memcpy(t.part, data, size);
	t.part_size = size;
	t.done = done;
	t.arg = arg;
	return t.join_error;
}

static void told(struct step *step, uint64_t serial, bool is_changed, const char *text,
		 double stood_s)
{
	is_int(serial, 5);
	t.n_answers++;
	t.is_changed = is_changed;
	snprintf(t.text, sizeof(t.text), "%s", text);
	t.stood_s = stood_s;
}

static void note(const char *what)
{
	snprintf(t.asked + strlen(t.asked), sizeof(t.asked) - strlen(t.asked), "%s ", what);
}

static void part(struct step *step)
{
	note("part");
}

static void go_away(struct step *step)
{
	note("go_away");
}

static void stay(struct step *step)
{
	note("stay");
}

static const struct standstill_events events = {.told = told,
						.part = part,
						.go_away = go_away,
						.stay = stay};

static void stop(struct step *step, int code, const char *text)
{
	t.n_stops++;
	is_int(code, STEP_CODE_LOST);
}

static inline struct suspend_slot *slot(uint32_t i)
{
	return suspend_page_slot(t.page, i);
}

static inline void map(void)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/" STANDSTILL_FILE, t.dir);
	fd = open(path, O_RDWR);
	ok(fd >= 0 && !fstat(fd, &st));
	is_int(st.st_mode & 0777, 0600);
	t.size = (size_t)st.st_size;
	t.page = mmap(NULL, t.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	unlink(path);
	ok(suspend_page_check(t.page, t.size));
}

static inline void begin(void)
{
	memset(&t, 0, sizeof(t));
	fake_open(2, 2);
	strcpy(t.dir, "/tmp/standstill-XXXXXX");
	ok(mkdtemp(t.dir) != NULL);
	fake.step.tmpdir = t.dir;
	fake.step.state = STEP_RUN;
	fake.step.stop = stop;
	fake.step.leader = (struct leader *)&fake;
	for (uint32_t i = 0; i < 2; i++)
		t.ranks[i] = (struct rank){.step = &fake.step,
					   .world = worlds_get(&fake.step.worlds, 0),
					   .number = 2 + i,
					   .slot = i};
	t.standstill = standstill_open(&fake.step, &events);
	ok(t.standstill != NULL);
	standstill_expect(t.standstill, worlds_get(&fake.step.worlds, 0));
	is_int(fake.step.slots, 2);
	map();
	for (uint32_t i = 0; i < 2; i++) {
		slot(i)->presence = SUSPEND_PRESENT;
		slot(i)->node = 2 + i;
		strcpy(slot(i)->address, i ? "y" : "x");
		slot(i)->address_length = 2;
	}
}

static inline void finish(void)
{
	standstill_close(t.standstill);
	munmap(t.page, t.size);
	rmdir(t.dir);
	free(t.part);
	fake_close();
}

static inline void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	fake_turn();
}

static inline void ask(const char *devices)
{
	json_t *head = json_pack("{s:i, s:s}", "serial", 5, "devices", devices);

	standstill_ask(t.standstill, head);
	json_decref(head);
}

/* The leader's word to all, which comes back to itself. */
static inline void starts(const char *devices)
{
	char want[96];
	json_t *head;

	ask(devices);
	snprintf(want, sizeof(want),
		 "{\"devices\":\"%s\",\"op\":\"standstill\",\"parts\":false,\"set\":\"0\"}",
		 devices);
	head = json_incref(fake.first->head);
	fake_sent(TREE_ALL, want, "");
	standstill_begin(t.standstill, head);
	json_decref(head);
}

static inline void ranks_do(uint32_t order)
{
	for (uint32_t i = 0; i < 2; i++)
		slot(i)->done = order;
	pass(0.0015);
}

/* This host has told its part, and the other one tells that: all go on. */
static inline void other_says(enum standstill_outcome outcome, const char *why)
{
	static struct suspend_slot theirs = {.address_length = 2, .address = "z"};
	const struct suspend_slot *slots[] = {&theirs};
	bool revives = suspend_order_step(t.page->order) == SUSPEND_REVIVE;
	size_t size;
	char *part = standstill_part_encode(outcome, why, slots, revives, &size), *all;
	unsigned int n = t.n_joins;

	ok(n > 0 && t.part);
	all = malloc(size + t.part_size);
	memcpy(all, t.part, t.part_size);
	memcpy(all + t.part_size, part, size);
	t.done(0, all, size + t.part_size, t.arg);
	is_int(t.n_joins, n);
	free(all);
	free(part);
}

/* The ranks carry out the order that is given, and so do those of the other host. */
static inline void all_do(enum suspend_step step)
{
	unsigned int n = t.n_joins;

	is_int(suspend_order_step(t.page->order), step);
	ranks_do(t.page->order);
	if (ok(t.n_joins == n + 1))
		other_says(STANDSTILL_DONE, "");
}

static inline void all_stand(void)
{
	all_do(SUSPEND_DRAIN);
	all_do(SUSPEND_HOLD);
	all_do(SUSPEND_QUIESCE);
	all_do(SUSPEND_AWAY);
}

#endif
