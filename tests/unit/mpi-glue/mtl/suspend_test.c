// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_suspend and mtl_pm_orders: what a rank does at each order, in which order it calls PM, and
 * what it writes into the page. The next order is given from inside of those calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi-glue/common/job.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "pmcore/util/suspend_page.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define NODE 3
#define SLOTS 2
#define SLOT 1
#define NODES 4

static struct ompi_communicator_t *comm;
static struct suspend_page *page;
static char path[64];

/* The orders to come. */
static struct {
	const enum suspend_step *steps;
	size_t n, given;
} plan;

static struct suspend_slot *slot(void)
{
	return suspend_page_slot(page, SLOT);
}

static void give_next(void)
{
	if (plan.given < plan.n)
		page->order = suspend_order_next(page->order, plan.steps[plan.given++]);
}

/* Called by PM's fake in each step, and at each look for messages. */
static void look_at_slot(void)
{
	uint32_t order = page->order;

	if (slot()->done == order || slot()->failed == order)
		give_next();
}

static void make_page(uint32_t n_slots, uint32_t n_nodes)
{
	size_t size = suspend_page_size(n_slots, n_nodes);
	int fd;

	strcpy(path, "/tmp/suspend_test.XXXXXX");
	fd = mkstemp(path);
	ok(fd >= 0 && !ftruncate(fd, (off_t)size));
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	page->magic = SUSPEND_PAGE_MAGIC;
	page->n_slots = n_slots;
	page->n_nodes = n_nodes;
}

static void name_page(const char *format)
{
	char text[128];

	snprintf(text, sizeof(text), format, path);
	setenv(SUSPEND_PAGE_VARIABLE, text, 1);
	setenv("PMIX_NAMESPACE", "job", 1);
	setenv("PMIX_RANK", "2", 1);
}

static void begin(void)
{
	comm = fake_open_comm("udp");
	mtl_pm_peer_of_node(NODE);
	mtl_pm.presence = MTL_PM_OUTSIDE;
	mtl_pm.gate = 0;
	pthread_mutex_init(&mtl_pm.lock, NULL);
	make_page(SLOTS, NODES);
	name_page("1:job.2:%s");
	mtl_pm_orders_open();
	memset(&plan, 0, sizeof(plan));
	fake.on_poll = fake.at_step = look_at_slot;
}

static void finish(void)
{
	is_int(mtl_pm.presence, MTL_PM_OUTSIDE);
	mtl_pm_orders_close();
	is_int(slot()->presence, SUSPEND_GONE);
	ok(!mtl_pm_order_is_due());
	unsetenv(SUSPEND_PAGE_VARIABLE);
	munmap(page, suspend_page_size(SLOTS, NODES));
	unlink(path);
	pthread_mutex_destroy(&mtl_pm.lock);
	fake_close_comm(comm);
}

/* The program waits for MPI: the orders are given to it, each when the one before is done. */
static void carry_out(const enum suspend_step *steps, size_t n)
{
	plan.steps = steps;
	plan.n = n;
	plan.given = 0;
	memset(fake.steps, 0, sizeof(fake.steps));
	give_next();
	mtl_pm_progress();
	is_int(plan.given, n);
}

#define CARRY_OUT(...)                                                                             \
	carry_out((const enum suspend_step[]){__VA_ARGS__},                                        \
		  sizeof((const enum suspend_step[]){__VA_ARGS__}) / sizeof(enum suspend_step))

TAP_TEST(orders__without_a_page_there_are_none)
{
	comm = fake_open_comm("udp");
	unsetenv(SUSPEND_PAGE_VARIABLE);
	mtl_pm_orders_open();
	ok(!mtl_pm_order_is_due());
	fake_close_comm(comm);
}

TAP_TEST(orders__a_page_that_is_not_one_is_not_used)
{
	static const char *const names[] = {"%s",    ":%s", "x:%s", "2:%s", "4294967296:%s",
					    "0:%s.", "0"};

	comm = fake_open_comm("udp");
	make_page(SLOTS, NODES);
	page->order = suspend_order_next(0, SUSPEND_DRAIN);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		name_page(names[i]);
		mtl_pm_orders_open();
		ok(!mtl_pm_order_is_due());
	}
	page->magic++;
	name_page("0:%s");
	mtl_pm_orders_open();
	ok(!mtl_pm_order_is_due());
	unsetenv(SUSPEND_PAGE_VARIABLE);
	munmap(page, suspend_page_size(SLOTS, NODES));
	unlink(path);
	fake_close_comm(comm);
}

TAP_TEST(suspend__given_up_before_the_devices_are_gone)
{
	begin();
	is_int(slot()->presence, SUSPEND_PRESENT);
	is_int(slot()->node, FAKE_NODE);
	CARRY_OUT(SUSPEND_DRAIN, SUSPEND_RUN);
	is_str(fake.steps, "r");
	is_int(slot()->done, page->order);
	CARRY_OUT(SUSPEND_DRAIN, SUSPEND_HOLD, SUSPEND_RUN);
	is_str(fake.steps, "hr");
	is_int(slot()->done, page->order);
	finish();
}

static int polls_owed;

/* Something is owed for some polls more. */
static void owe(void)
{
	if (fake.is_owed)
		ok(slot()->done != page->order);
	if (polls_owed && !--polls_owed)
		fake.is_owed = false;
	look_at_slot();
}

TAP_TEST(suspend__it_holds_until_all_that_was_sent_is_acknowledged)
{
	begin();
	fake.is_owed = true;
	fake.on_poll = owe;
	polls_owed = 5;
	CARRY_OUT(SUSPEND_HOLD, SUSPEND_RUN);
	is_int(polls_owed, 0);
	is_str(fake.steps, "hr");
	finish();
}

/* PM's fake finds the ranks quiet at once, and each step is given as soon as the last is done. */
static void give_when_done(void)
{
	look_at_slot();
	/* these two are done when their call returns, and then the rank sleeps: not in this test */
	if (strchr("sR", fake.steps[strlen(fake.steps) - 1]))
		give_next();
}

/* In MEET, which asks for each peer. */
static void give_when_met(void)
{
	if (suspend_order_step(page->order) == SUSPEND_MEET)
		give_next();
}

static void tell_address(void)
{
	struct suspend_address *a = suspend_page_address(page, 0);

	*a = (struct suspend_address){.node = NODE, .length = 4, .bytes = "new"};
	page->n_known = 1;
}

TAP_TEST(suspend__devices_go_and_others_come)
{
	size_t length;
	char *address;

	begin();
	fake.at_step = give_when_done;
	fake.at_mtu = give_when_met;
	ok(!mtl_pm_order_has_changed_address(NODE));
	strcpy(page->config, "devices=self+shmem");
	page->job_key = 77;
	tell_address();
	mtl_pm.options = "shmem.mtu=32896";
	CARRY_OUT(SUSPEND_AWAY, SUSPEND_REVIVE, SUSPEND_MEET, SUSPEND_RUN);
	is_str(fake.steps, "qsRr");
	is_str(fake.config, "shmem.mtu=32896,devices=self+shmem");
	is_int(fake.job_key, 77);
	is_int(slot()->address_length, sizeof(FAKE_ADDRESS));
	is_mem(slot()->address, FAKE_ADDRESS, sizeof(FAKE_ADDRESS));

	ok(mtl_pm_order_has_changed_address(NODE));
	address = mtl_pm_order_address(NODE, &length);
	is_int(length, 4);
	ok(address && !strcmp(address, "new"));
	free(address);
	ok(!mtl_pm_order_address(NODE + 1, &length));
	page->n_known = UINT32_MAX; /* not believed */
	ok(!mtl_pm_order_address(UINT32_MAX - 1, &length));
	page->n_known = 1;
	suspend_page_address(page, 0)->length = SUSPEND_ADDRESS_MAX + 1;
	ok(!mtl_pm_order_address(NODE, &length));
	suspend_page_address(page, 0)->length = 4;
	mtl_pm_order_forget_addresses();
	ok(!mtl_pm_order_address(NODE, &length));
	mtl_pm.options = NULL;
	finish();
}

static uint32_t first_try;

static void open_at_second_try(void)
{
	if (!strcmp(fake.steps, "qsR")) {
		first_try = page->order;
		fake.revive_error = 0;
	}
	give_when_done();
}

TAP_TEST(suspend__devices_that_do_not_open_leave_the_reason)
{
	begin();
	fake.at_step = open_at_second_try;
	fake.at_mtu = give_when_met;
	fake.revive_error = ENODEV;
	tell_address();
	CARRY_OUT(SUSPEND_AWAY, SUSPEND_REVIVE, SUSPEND_REVIVE, SUSPEND_MEET, SUSPEND_RUN);
	is_str(fake.steps, "qsRRr");
	is_int(slot()->failed, first_try);
	is_str(slot()->why, "fake");
	is_int(slot()->done, page->order);
	finish();
}

static uint32_t first_meeting;

static void reach_at_second_try(void)
{
	if (suspend_order_step(page->order) != SUSPEND_MEET)
		return;
	if (!first_meeting)
		first_meeting = page->order;
	fake.mtu_error = 0;
	give_next();
}

/* The last order, when the one before is done. */
static void *run_when_met(void *unused)
{
	uint32_t order;

	(void)unused;
	do {
		sched_yield();
		order = __atomic_load_n(&page->order, __ATOMIC_ACQUIRE);
	} while (suspend_order_step(order) != SUSPEND_MEET ||
		 __atomic_load_n(&slot()->done, __ATOMIC_ACQUIRE) != order);
	__atomic_store_n(&page->order, suspend_order_next(order, SUSPEND_RUN), __ATOMIC_RELEASE);
	syscall(SYS_futex, &page->order, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

/* It has ended in order: all that live have an address. */
TAP_TEST(meet__a_rank_that_has_no_address_is_not_looked_for)
{
	pthread_t thread;

	begin();
	fake.at_step = give_when_done;
	fake.mtu_error = EHOSTUNREACH;
	pthread_create(&thread, NULL, run_when_met, NULL);
	CARRY_OUT(SUSPEND_AWAY, SUSPEND_REVIVE, SUSPEND_MEET);
	pthread_join(thread, NULL);
	is_int(slot()->failed, 0);
	is_str(fake.steps, "qsRr");
	fake.mtu_error = 0;
	finish();
}

/* Devices that lead nowhere are found though nobody was talked with. */
TAP_TEST(meet__others_that_were_not_talked_with)
{
	struct suspend_address *a;

	begin();
	mtl_pm_peer_of_node(NODE)->is_dead = true;
	for (uint32_t i = 0; i < 2; i++) {
		a = suspend_page_address(page, i);
		*a = (struct suspend_address){.node = i, .length = 4, .bytes = "new"};
	}
	page->n_known = 2;
	first_meeting = 0;
	fake.at_step = give_when_done;
	fake.at_mtu = reach_at_second_try;
	fake.mtu_error = EHOSTUNREACH;
	CARRY_OUT(SUSPEND_AWAY, SUSPEND_REVIVE, SUSPEND_MEET, SUSPEND_AWAY, SUSPEND_REVIVE,
		  SUSPEND_MEET, SUSPEND_RUN);
	is_str(fake.steps, "qsRqsRr");
	is_int(slot()->failed, first_meeting);
	is_str(slot()->why, "no other rank can be reached: fake");
	finish();
}

TAP_TEST(suspend__it_does_not_go_on_before_all_were_found)
{
	int polls;

	begin();
	first_meeting = 0;
	fake.at_step = give_when_done;
	fake.at_mtu = reach_at_second_try;
	fake.mtu_error = EHOSTUNREACH;
	tell_address();
	polls = fake.polls;
	CARRY_OUT(SUSPEND_AWAY, SUSPEND_REVIVE, SUSPEND_MEET, SUSPEND_AWAY, SUSPEND_REVIVE,
		  SUSPEND_MEET, SUSPEND_RUN);
	is_str(fake.steps, "qsRqsRr");
	is_int(slot()->failed, first_meeting);
	is_int(fake.polls - polls, 1); /* in the round of progress behind it */
	finish();
}

/* Lets the job go on, once its new rank waits for that, and until it has seen it. */
static void *go_on(void *is_seen)
{
	while (!syscall(SYS_futex, &page->order, FUTEX_WAKE, 1, NULL, NULL, 0))
		sched_yield();
	__atomic_store_n(&page->order, suspend_order_next(page->order, SUSPEND_RUN),
			 __ATOMIC_RELEASE);
	while (!__atomic_load_n((bool *)is_seen, __ATOMIC_ACQUIRE)) {
		syscall(SYS_futex, &page->order, FUTEX_WAKE, 1, NULL, NULL, 0);
		sched_yield();
	}
	return NULL;
}

TAP_TEST(orders__a_rank_of_a_later_world_opens_what_the_job_has_now)
{
	char config[MTL_PM_ORDER_CONFIG_MAX];
	pmNode later = NODE + JOB_RANKS_MAX;
	bool is_seen = false;
	pthread_t thread;

	begin();
	mtl_pm_orders_close();
	ok(!mtl_pm_orders_await());
	strcpy(page->config, "devices=udp");
	page->job_key = 78;
	tell_address();
	page->order = suspend_order_next(page->order, SUSPEND_MEET);
	pthread_create(&thread, NULL, go_on, &is_seen);
	ok(mtl_pm_orders_await());
	is_int(suspend_order_step(page->order), SUSPEND_RUN);
	__atomic_store_n(&is_seen, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	is_int(mtl_pm_order_devices(config), 78);
	is_str(config, "devices=udp");
	mtl_pm_orders_open();
	/* Others of its world are where the launcher says; those that stood still are not. */
	ok(mtl_pm_order_has_changed_address(NODE));
	ok(mtl_pm_order_has_changed_address(NODE + 1));
	ok(!mtl_pm_order_has_changed_address(later));
	ok(!mtl_pm_order_has_changed_address(later + 1));
	finish();
}

/* A job that a rank starts has its environment, and names of its own. */
TAP_TEST(orders__a_job_within_a_job_gets_none)
{
	static const char *const names[][2] = {
		{"job.1", "2"}, {"job", "1"}, {NULL, "2"}, {"job", NULL}};

	begin();
	mtl_pm_orders_close();
	slot()->presence = SUSPEND_ABSENT;
	tell_address();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		unsetenv("PMIX_NAMESPACE");
		unsetenv("PMIX_RANK");
		if (names[i][0])
			setenv("PMIX_NAMESPACE", names[i][0], 1);
		if (names[i][1])
			setenv("PMIX_RANK", names[i][1], 1);
		ok(!mtl_pm_orders_await());
		mtl_pm_orders_open();
		is_int(slot()->presence, SUSPEND_ABSENT);
	}
	name_page("1:job.2:%s");
	ok(mtl_pm_orders_await());
	mtl_pm_orders_open();
	finish();
}

TAP_TEST(orders__a_slot_has_one_process)
{
	begin();
	mtl_pm_orders_close();
	slot()->presence = SUSPEND_PRESENT;
	tell_address();
	ok(!mtl_pm_orders_await());
	page->order = suspend_order_next(0, SUSPEND_DRAIN);
	slot()->node = 99;
	mtl_pm_orders_open();
	is_int(slot()->node, 99);
	ok(!mtl_pm_order_is_due());
	munmap(page, suspend_page_size(SLOTS, NODES));
	unlink(path);
	unsetenv(SUSPEND_PAGE_VARIABLE);
	pthread_mutex_destroy(&mtl_pm.lock);
	fake_close_comm(comm);
}

TAP_TEST(meet__what_another_device_takes_holds_from_now_on)
{
	struct mtl_pm_peer *peer;

	begin();
	peer = mtl_pm_peer_of_node(NODE);
	ok(peer->gathers && !peer->ways);
	mtl_pm_peer_choke(peer, true);
	fake.device = "shmem";
	ok(mtl_pm_peer_meet_again(peer));
	ok(!peer->gathers && peer->ways);
	is_int(peer->eager_limit, -1);
	mtl_pm_peer_choke(peer, false);
	ok(peer->eager_limit > 0);
	fake.device = "udp";
	ok(mtl_pm_peer_meet_again(peer));
	ok(peer->gathers && !peer->ways && peer->measured);
	fake.mtu_error = EHOSTUNREACH;
	ok(!mtl_pm_peer_meet_again(peer));
	fake.mtu_error = 0;
	finish();
}

/* On the new device the whole message would fit a datagram. */
TAP_TEST(meet__an_announcement_that_was_begun_is_gone_on_with)
{
	enum { LENGTH = 12000 };
	static char data[LENGTH];
	struct fake_send s;
	struct mtl_pm_peer *peer;

	begin();
	peer = mtl_pm_peer_of_node(NODE);
	peer->eager_limit = peer->middle_limit = peer->shared_limit = 2000;
	peer->head_limit = LENGTH;
	fake.send_buffers = 1;
	fake_prepare_send(&s, peer, data, LENGTH);
	mtl_pm_submit(&s.req.send);
	is_int(envelope_kind((const void *)fake_sent()->bytes), ENVELOPE_RTS);
	fake_drop();
	ok(!fake_sent());

	peer->eager_limit = LENGTH;
	fake.send_buffers = INT32_MAX;
	mtl_pm_poll();
	while (fake_sent()) {
		is_int(envelope_kind((const void *)fake_sent()->bytes), ENVELOPE_MORE);
		fake_drop();
	}
	ok(!fake_completed()); /* its receiver asks for it, or says that it has it */
	mtl_pm_send_finish(&s.req.send, 0);
	ok(fake_completed() == &s.req);
	finish();
}

/* It would poll much longer by itself. */
TAP_TEST(orders__a_blocking_receive_leaves_its_polls_for_them)
{
	static struct fake_receive r;
	int polls;

	begin();
	fake.on_poll = NULL;
	fake_prepare(&r, 8);
	page->order = suspend_order_next(0, SUSPEND_DRAIN);
	mtl_pm_enter();
	polls = fake.polls;
	mtl_pm_linger(&r.ompi);
	is_int(fake.polls - polls, 5);
	mtl_pm_orders.seen = page->order;
	mtl_pm_enter();
	polls = fake.polls;
	mtl_pm_linger(&r.ompi);
	ok(fake.polls - polls > 100);
	finish();
}
