// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

static struct node a, b;
static struct pm_link_peer *to_a, *to_b;

static bool begin(const char *options)
{
	links_begin();
	return is_int(node_open(&a, 1, options), 0) && is_int(node_open(&b, 2, options), 0) &&
	       is_int(node_add(&a, 2, &b, &to_b), 0) && is_int(node_add(&b, 1, &a, &to_a), 0);
}

static void end(void)
{
	node_close(&a);
	node_close(&b);
	links_end();
}

static bool is_readable(struct node *n)
{
	struct pollfd p = {.events = POLLIN};

	return is_int(OPS->poll_fds(n->link, &p.fd, 1), 1) && poll(&p, 1, 0) == 1;
}

TAP_TEST(arm__with_nothing_to_do)
{
	uint64_t timeout = UINT64_MAX;

	must(begin(NULL));
	is_int(OPS->arm(a.link, &timeout), 0);
	okf(timeout <= 1000000000, "a dead peer must be found: %llu", (unsigned long long)timeout);
	ok(!is_readable(&a));
	OPS->disarm(a.link);
	end();
}

TAP_TEST(arm__with_a_message_waiting)
{
	uint64_t timeout = UINT64_MAX;
	struct pm_inbound in;

	must(begin(NULL));
	/* of a first contact, and of a known one */
	for (int i = 0; i < 2; i++) {
		is_int(node_send(&b, to_a, 8, i), 0);
		is_int(OPS->arm(a.link, &timeout), 1);
		must(is_int(node_receive(&a, &in), 1));
		OPS->release(a.link, in.cookie);
		is_int(OPS->arm(a.link, &timeout), 0);
		OPS->disarm(a.link);
	}
	is_int(b.stats.wakes, 0);
	end();
}

TAP_TEST(arm__woken_by_a_message)
{
	uint64_t timeout = UINT64_MAX;
	struct pm_inbound in;

	must(begin(NULL));
	for (uint32_t i = 0; i < 100; i++) {
		must(is_int(OPS->arm(a.link, &timeout), 0));
		is_int(node_send(&b, to_a, 8, i), 0);
		ok(is_readable(&a));
		OPS->disarm(a.link);
		ok(!is_readable(&a));
		must(is_int(node_receive(&a, &in), 1));
		OPS->release(a.link, in.cookie);
	}
	is_int(b.stats.wakes, 100);
	/* one byte per sleep, not per message */
	must(is_int(OPS->arm(a.link, &timeout), 0));
	for (int i = 0; i < 50; i++)
		is_int(node_send(&b, to_a, 8, i), 0);
	is_int(b.stats.wakes, 101);
	OPS->disarm(a.link);
	end();
}

TAP_TEST(arm__woken_by_room)
{
	uint64_t timeout = UINT64_MAX;
	struct pm_inbound in;
	uint32_t sent = 0;

	must(begin(NULL));
	while (!node_send(&a, to_b, 5000, sent))
		sent++;
	must(is_int(OPS->arm(a.link, &timeout), 0));
	ok(!is_readable(&a));
	for (uint32_t i = 0; i < sent; i++) {
		must(is_int(node_receive(&b, &in), 1));
		OPS->release(b.link, in.cookie);
	}
	ok(is_readable(&a));
	OPS->disarm(a.link);
	is_int(node_send(&a, to_b, 5000, 1), 0);
	end();
}

/*
 * The byte ring stays full of what the peer holds, and cells before that come back: room for a
 * post.
 */
TAP_TEST(arm__a_refused_post_waits_for_cells)
{
	enum { FIRST = 25 };
	static uint8_t data[1000];
	uint64_t timeout = UINT64_MAX;
	struct pm_inbound in[64];
	uint32_t sent = 0;

	must(begin(NULL));
	while (sent < FIRST) {
		must(is_int(OPS->post(a.link, to_b, data, sizeof(data)), 0));
		must(is_int(node_receive(&b, &in[sent++]), 1));
	}
	while (sent < 60 && !node_send(&a, to_b, 16384, sent))
		must(is_int(node_receive(&b, &in[sent++]), 1));
	while (sent < 60 && !OPS->post(a.link, to_b, data, sizeof(data)))
		must(is_int(node_receive(&b, &in[sent++]), 1));
	okf(sent > FIRST + 3 && sent < 60, "%u sent until cells and bytes were full", sent);
	must(is_int(OPS->arm(a.link, &timeout), 0));
	for (uint32_t i = 0; i < FIRST; i++)
		OPS->release(b.link, in[i].cookie);
	ok(is_readable(&a));
	OPS->disarm(a.link);
	is_int(OPS->arm(a.link, &timeout), 1);
	is_int(OPS->post(a.link, to_b, data, sizeof(data)), 0);
	while (sent-- > FIRST)
		OPS->release(b.link, in[sent].cookie);
	end();
}

TAP_TEST(arm__woken_by_each_step_of_a_read)
{
	static char memory[1000000], local[1000000];
	uint64_t timeout = UINT64_MAX, rkey;
	struct pm_inbound in;
	uint32_t op;
	int err = -EAGAIN;

	must(begin("shmem.large=ring"));
	fill(memory, sizeof(memory), 3);
	must(is_int(region_add(b.regions, memory, sizeof(memory), &rkey), 0));
	is_int(OPS->arm(b.link, &timeout), 0);
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, sizeof(local), &op), 0));
	/* each works only when the other has made it readable */
	for (int i = 0; i < 1000 && err == -EAGAIN; i++) {
		if (OPS->arm(a.link, &timeout) || is_readable(&a)) {
			OPS->disarm(a.link);
			while (OPS->arm(a.link, &timeout))
				OPS->receive(a.link, &in);
		}
		OPS->disarm(a.link);
		err = OPS->rma_done(a.link, op);
		OPS->arm(a.link, &timeout);
		if (err == -EAGAIN && !ok(is_readable(&b) || i == 0))
			break;
		OPS->disarm(b.link);
		while (OPS->arm(b.link, &timeout))
			OPS->receive(b.link, &in);
		OPS->disarm(a.link);
	}
	is_int(err, 0);
	ok(is_filled(local, sizeof(local), 3));
	end();
}

/* ---- two processes that sleep whenever they can ---- */

#define STRESS 60000
#define STALL_MS 3000 /* no message for so long: a wake-up was lost */

static bool wait_readable(struct node *n)
{
	struct pollfd p = {.events = POLLIN};
	uint64_t timeout = UINT64_MAX;
	int got = 1;

	if (!OPS->arm(n->link, &timeout)) {
		OPS->poll_fds(n->link, &p.fd, 1);
		got = poll(&p, 1, STALL_MS);
	}
	OPS->disarm(n->link);
	return got == 1;
}

static int send_one(struct node *n, struct pm_link_peer *peer, uint64_t seed)
{
	while (node_send(n, peer, 8, seed))
		if (!wait_readable(n))
			return __LINE__;
	return 0;
}

/* Receives a message; polls @spins times before each sleep. */
static int receive_one(struct node *n, uint32_t spins)
{
	struct pm_inbound in;
	int got;

	while (!(got = OPS->receive(n->link, &in)))
		if ((!spins || !--spins) && !wait_readable(n))
			return __LINE__;
	if (got < 0)
		return __LINE__;
	OPS->release(n->link, in.cookie);
	return 0;
}

/* Ping-pong, each spinning a random while before it sleeps. 0, or the line of the failure. */
static int play(struct node *n, struct pm_link_peer *peer, bool is_first, uint64_t random)
{
	int err = 0;

	for (uint64_t i = 0; i < STRESS && !err; i++) {
		if (is_first)
			err = send_one(n, peer, i);
		if (!err)
			err = receive_one(n, tap_rand(&random) % 300);
		if (!is_first && !err)
			err = send_one(n, peer, i);
	}
	return err;
}

/* Streams with random pauses; the receiver sleeps, the sender sleeps when the ring is full. */
static int stream(struct node *n, struct pm_link_peer *peer, bool is_first, uint64_t random)
{
	struct pm_inbound in;

	for (uint32_t i = 0; i < STRESS; i++) {
		int got = 0;

		if (is_first) {
			while (node_send(n, peer, 1 + i % 900, i))
				if (OPS->receive(n->link, &in) || !wait_readable(n))
					return __LINE__;
			if (tap_rand(&random) % 64 == 0)
				sched_yield();
			continue;
		}
		while (!got) {
			got = OPS->receive(n->link, &in);
			if (!got && !wait_readable(n))
				return __LINE__;
		}
		if (got < 0 || !is_filled(in.buf, 1 + i % 900, i))
			return __LINE__;
		OPS->release(n->link, in.cookie);
	}
	return 0;
}

struct shared {
	uint8_t address[2][256];
	_Atomic int is_open[2];
	_Atomic int is_through[2];
};

typedef int game(struct node *n, struct pm_link_peer *peer, bool is_first, uint64_t random);

static int be_player(struct shared *s, game *play_it, int self, uint64_t seed)
{
	struct pm_link_peer *peer;
	struct node n, other;
	int err;

	if (node_open(&n, (uint32_t)self, NULL))
		return __LINE__;
	memcpy(s->address[self], n.address, n.address_len);
	s->is_open[self] = 1;
	while (!s->is_open[!self])
		sched_yield();
	memcpy(other.address, s->address[!self], sizeof(other.address));
	other.address_len = n.address_len;
	if (node_add(&n, !self, &other, &peer))
		return __LINE__;
	err = play_it(&n, peer, self == 0, seed);
	s->is_through[self] = 1;
	while (!s->is_through[!self] && !err)
		sched_yield();
	node_close(&n);
	return err;
}

static void run_game(game *play_it)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = tap_seed();
	int status, err;
	pid_t pid;

	links_begin();
	pid = fork();
	if (!pid)
		_exit(be_player(s, play_it, 1, seed + 1) ? 1 : 0);
	must(pid > 0);
	err = be_player(s, play_it, 0, seed);
	okf(!err, "sleep_test.c:%d", err);
	s->is_through[0] = 1;
	waitpid(pid, &status, 0);
	is_int(status, 0);
	links_end();
	munmap(s, sizeof(*s));
}

TAP_TEST(sleep__no_wake_up_is_lost_in_ping_pong)
{
	run_game(play);
}

TAP_TEST(sleep__no_wake_up_is_lost_in_a_stream)
{
	run_game(stream);
}
