// SPDX-License-Identifier: BSD-3-Clause
/*
 * standstill: one host of two, with two ranks; the test writes their slots of the page, and says
 * what all hosts have told.
 */
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

static void stop(struct step *step, int code, const char *text)
{
	t.n_stops++;
	is_int(code, STEP_CODE_LOST);
}

static struct suspend_slot *slot(uint32_t i)
{
	return suspend_page_slot(t.page, i);
}

static void map(void)
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

static void begin(void)
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
	t.standstill = standstill_open(&fake.step, told);
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

static void finish(void)
{
	standstill_close(t.standstill);
	munmap(t.page, t.size);
	rmdir(t.dir);
	free(t.part);
	fake_close();
}

static void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	fake_turn();
}

static void ask(const char *devices)
{
	json_t *head = json_pack("{s:i, s:s}", "serial", 5, "devices", devices);

	standstill_ask(t.standstill, head);
	json_decref(head);
}

/* The leader's word to all, which comes back to itself. */
static void starts(const char *devices)
{
	char want[96];
	json_t *head;

	ask(devices);
	snprintf(want, sizeof(want), "{\"devices\":\"%s\",\"op\":\"standstill\",\"set\":\"0\"}",
		 devices);
	head = json_incref(fake.first->head);
	fake_sent(TREE_ALL, want, "");
	standstill_begin(t.standstill, head);
	json_decref(head);
}

static void ranks_do(uint32_t order)
{
	for (uint32_t i = 0; i < 2; i++)
		slot(i)->done = order;
	pass(0.0015);
}

/* This host has told its part, and the other one tells that: all go on. */
static void other_says(enum standstill_outcome outcome, const char *why)
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
static void all_do(enum suspend_step step)
{
	unsigned int n = t.n_joins;

	is_int(suspend_order_step(t.page->order), step);
	ranks_do(t.page->order);
	if (ok(t.n_joins == n + 1))
		other_says(STANDSTILL_DONE, "");
}

static void all_stand(void)
{
	all_do(SUSPEND_DRAIN);
	all_do(SUSPEND_HOLD);
	all_do(SUSPEND_QUIESCE);
	all_do(SUSPEND_AWAY);
}

TAP_TEST(standstill__other_devices)
{
	uint64_t key;

	begin();
	starts("self+udp");
	all_stand();
	is_str(t.page->config, "devices=self+udp");
	key = t.page->job_key;
	ok(key);
	all_do(SUSPEND_REVIVE);
	/* Those of all, by node. */
	is_int(t.page->n_known, 3);
	is_int(suspend_page_address(t.page, 0)->node, 0);
	is_str(suspend_page_address(t.page, 0)->bytes, "z");
	is_int(suspend_page_address(t.page, 1)->node, 2);
	is_int(suspend_page_address(t.page, 2)->node, 3);
	all_do(SUSPEND_MEET);
	stillclock_ns += 5000000;
	all_do(SUSPEND_RUN);
	is_int(t.n_answers, 1);
	ok(t.is_changed);
	is_str(t.text, "");
	ok(t.stood_s > 0.005 && t.stood_s < 0.1);
	/* Once more, by another key. */
	starts("self+ethernet");
	all_stand();
	is_str(t.page->config, "devices=self+ethernet");
	ok(t.page->job_key != key);
	finish();
}

TAP_TEST(standstill__devices_that_do_not_open)
{
	begin();
	starts("verbs");
	all_stand();
	strcpy(slot(1)->why, "verbs: no\xff device");
	slot(0)->done = slot(1)->failed = t.page->order;
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	/* Those of before, which were the first ones. */
	is_str(t.page->config, "");
	all_do(SUSPEND_REVIVE);
	all_do(SUSPEND_MEET);
	all_do(SUSPEND_RUN);
	is_int(t.n_answers, 1);
	ok(!t.is_changed);
	is_str(t.text,
	       "rank 3 on host: verbs: no? device; the job goes on by the devices that it had");
	is_int(t.n_stops, 0);
	finish();
}

/* The next order comes with other devices: nobody may be at this one still. */
TAP_TEST(standstill__one_that_fails_does_not_hurry_the_others)
{
	begin();
	starts("verbs");
	all_stand();
	strcpy(slot(1)->why, "no device");
	slot(1)->failed = t.page->order;
	for (int i = 0; i < 100; i++)
		pass(1);
	is_int(t.n_joins, 4);
	is_str(t.page->config, "devices=verbs");
	slot(0)->done = t.page->order;
	pass(0.03);
	is_int(t.n_joins, 5);
	other_says(STANDSTILL_DONE, "");
	is_str(t.page->config, "");
	all_do(SUSPEND_REVIVE);
	finish();
}

TAP_TEST(standstill__no_devices_open_any_more)
{
	begin();
	starts("verbs");
	all_stand();
	for (int i = 0; i < 2; i++) {
		ranks_do(t.page->order);
		other_says(STANDSTILL_FAILED, "rank 0 on h0: no");
	}
	is_int(t.n_answers, 1);
	is_str(t.text, "rank 0 on h0: no; the job ends");
	is_int(t.n_stops, 1);
	finish();
}

/* Rank 0 stands and goes on; rank 1 comes to no order, and to SUSPEND_RUN it need not. */
static void try_in_vain(void)
{
	unsigned int n = t.n_joins;

	slot(0)->done = t.page->order;
	pass(0.2);
	is_int(t.n_joins, n);
	pass(0.11);
	is_int(t.n_joins, n + 1);
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	pass(0.01);
	is_int(t.n_joins, n + 1);
	slot(0)->done = t.page->order;
	pass(0.0015);
	is_int(t.n_joins, n + 2);
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	pass(0.19);
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	pass(0.02);
	is_int(suspend_order_step(t.page->order), SUSPEND_DRAIN);
}

TAP_TEST(standstill__a_rank_that_computes)
{
	begin();
	starts("udp");
	try_in_vain();
	try_in_vain();
	all_do(SUSPEND_DRAIN);
	is_int(suspend_order_step(t.page->order), SUSPEND_HOLD);
	finish();
}

TAP_TEST(standstill__a_rank_that_is_stopped_without_devices_is_waited_for)
{
	begin();
	starts("udp");
	all_stand();
	slot(0)->done = t.page->order;
	for (int i = 0; i < 100; i++)
		pass(60);
	is_int(t.n_joins, 4);
	/* It is looked at less often. */
	ranks_do(t.page->order);
	pass(0.02);
	is_int(t.n_joins, 5);
	finish();
}

static void is_refused(const char *text)
{
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	ranks_do(t.page->order);
	other_says(STANDSTILL_DONE, "");
	is_int(t.n_answers, 1);
	ok(!t.is_changed);
	is_str(t.text, text);
}

TAP_TEST(standstill__ranks_that_can_not)
{
	begin();
	slot(1)->presence = SUSPEND_ABSENT;
	starts("udp");
	is_refused("rank 3 on host does not use PM, or has not come to MPI_Init yet; the job goes "
		   "on by the devices that it had");
	finish();
	begin();
	slot(0)->presence = SUSPEND_GONE;
	starts("udp");
	is_refused("rank 2 on host has come to MPI_Finalize; the job goes on by the devices that "
		   "it had");
	finish();
	begin();
	t.ranks[1].slot = 1000000;
	starts("udp");
	is_refused(
		"rank 3 on host was spawned when there was no room for it in the page of orders, "
		"after very many others or as $TMPDIR was full; the job goes on by the devices "
		"that it had");
	finish();
}

TAP_TEST(standstill__ranks_that_have_ended_are_not_asked)
{
	begin();
	slot(1)->presence = SUSPEND_GONE;
	t.ranks[1].has_ended = true;
	starts("udp");
	slot(0)->done = t.page->order;
	pass(0.0015);
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_HOLD);
	finish();
}

TAP_TEST(standstill__numbers_in_the_page_are_not_believed)
{
	begin();
	starts("udp");
	t.page->n_slots = t.page->n_nodes = UINT32_MAX;
	all_do(SUSPEND_DRAIN);
	all_do(SUSPEND_HOLD);
	all_do(SUSPEND_QUIESCE);
	all_do(SUSPEND_AWAY);
	slot(0)->address_length = UINT32_MAX;
	all_do(SUSPEND_REVIVE);
	is_int(t.page->n_known, 3);
	finish();
}

/* Whoever has no address in the page counts as ended, so none may be left out. */
TAP_TEST(standstill__more_addresses_than_ranks)
{
	struct suspend_slot many = {.address_length = 2, .address = "z"};
	const struct suspend_slot *slots[] = {&many, &many, &many};
	size_t size;
	char *part, *all;

	begin();
	starts("udp");
	all_stand();
	ranks_do(t.page->order);
	part = standstill_part_encode(STANDSTILL_DONE, "", slots, 3, &size);
	all = malloc(size + t.part_size);
	memcpy(all, t.part, t.part_size);
	memcpy(all + t.part_size, part, size);
	t.done(0, all, size + t.part_size, t.arg);
	is_int(suspend_order_step(t.page->order), SUSPEND_REVIVE);
	is_str(t.page->config, "");
	free(all);
	free(part);
	finish();
}

TAP_TEST(standstill_ask__not_now)
{
	begin();
	fake.step.state = STEP_READY;
	ask("udp");
	is_str(t.text, "the job does not run yet, or ends");
	fake.step.state = STEP_RUN;
	starts("udp");
	ask("udp");
	is_int(t.n_answers, 2);
	is_str(t.text, "the job is changing its devices already; try again when it has");
	ok(!fake.first);
	finish();
}

TAP_TEST(standstill__hosts_that_can_not_meet)
{
	begin();
	starts("udp");
	t.join_error = -ENOSPC;
	ranks_do(t.page->order);
	is_int(t.n_stops, 1);
	finish();
	/* The other one talks nonsense. */
	begin();
	starts("udp");
	ranks_do(t.page->order);
	t.done(0, "nonsense", 8, t.arg);
	is_int(suspend_order_step(t.page->order), SUSPEND_RUN);
	ranks_do(t.page->order);
	other_says(STANDSTILL_DONE, "");
	is_str(t.text,
	       "a host says what makes no sense; the job goes on by the devices that it had");
	finish();
	/* The job ends meanwhile. */
	begin();
	starts("udp");
	ranks_do(t.page->order);
	fake.step.state = STEP_STOPPING;
	other_says(STANDSTILL_DONE, "");
	is_int(suspend_order_step(t.page->order), SUSPEND_DRAIN);
	finish();
}
