// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

TAP_TEST(peer_add__twice_is_the_same)
{
	struct pm_link_peer *first, *second;
	struct node a, b;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	must(is_int(node_add(&a, 2, &b, &first), 0));
	OPS->peer_del(a.link, first);
	must(is_int(node_add(&a, 2, &b, &second), 0));
	ok(first == second);
	is_int(node_send(&a, second, 10, 1), 0);
	node_close(&a);
	node_close(&b);
	links_end();
}

TAP_TEST(peer__messages_outlive_a_closed_sender)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	must(is_int(node_add(&a, 2, &b, &peer), 0));
	for (uint32_t i = 0; i < 100; i++)
		is_int(node_send(&a, peer, 1 + i * 3, i), 0);
	is_int(OPS->send_done(a.link, peer), 0);
	node_close(&a);
	for (uint32_t i = 0; i < 100; i++) {
		must(is_int(node_receive(&b, &in), 1));
		ok(is_filled(in.buf, 1 + i * 3, i));
		OPS->release(b.link, in.cookie);
	}
	/* and its end is no failure of ours */
	for (int i = 0; i < 100000; i++)
		is_int(OPS->receive(b.link, &in), 0);
	node_close(&b);
	links_end();
}

TAP_TEST(peer__a_closed_receiver_is_a_broken_pipe)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;
	int err;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	must(is_int(node_add(&a, 2, &b, &peer), 0));
	node_close(&b);
	for (uint64_t start = clock_monotonic_ns();;) {
		err = node_send(&a, peer, 10, 1);
		if (err == -EPIPE)
			break;
		is_int(OPS->receive(a.link, &in), 0);
		must(clock_monotonic_ns() - start < PATIENCE_NS);
	}
	is_int(err, -EPIPE);
	OPS->peer_del(a.link, peer);
	is_int(node_add(&a, 2, &b, &peer), -EPIPE);
	node_close(&a);
	links_end();
}

/* ---- kill -9 ---- */

struct shared {
	struct node child; /* its address */
	_Atomic int is_open;
	_Atomic int victim_is_mad; /* it has started its traffic */
};

/* A process that talks to node 1 until it is killed: messages of all sizes, reads and writes. */
static void be_victim(struct shared *shared, const struct node *parent, uint64_t rkey,
		      uint64_t random)
{
	static char local[200000];
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node n;
	uint32_t op = 0;

	if (node_open(&n, 2, NULL) || node_add(&n, 1, parent, &peer))
		_exit(1);
	shared->child = n;
	shared->is_open = 1;
	for (uint64_t i = 0;; i++) {
		uint32_t len = 1 + tap_rand(&random) % (i % 3 ? 100 : 10000);

		node_send(&n, peer, len, len);
		if (OPS->receive(n.link, &in) == 1)
			OPS->release(n.link, in.cookie);
		if (!op || OPS->rma_done(n.link, op) == 0) {
			uint64_t size = tap_rand(&random) % sizeof(local);
			int err = i & 1 ? OPS->read(n.link, peer, rkey, 0, local, size, &op)
					: OPS->write(n.link, peer, rkey, 0, local, size, &op);

			if (err)
				op = 0;
		}
		if (i == 10)
			shared->victim_is_mad = 1;
	}
}

/* Takes messages until the death of node 2 is reported; false if something is wrong with them. */
static bool outlive(struct node *a, struct pm_link_peer **peer, pid_t pid, uint64_t delay_ns)
{
	uint64_t start = clock_monotonic_ns(), killed = 0;
	struct pm_inbound in;

	for (;;) {
		uint64_t now = clock_monotonic_ns();
		int got = OPS->receive(a->link, &in);

		if (!killed && now - start > delay_ns) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			killed = now;
		}
		node_send(a, *peer, 500, 1);
		if (got == -EPIPE)
			return is_int(in.src, 2) && ok(killed) && ok(strstr(a->why, "node 2")) &&
			       okf(now - killed < 2000000000, "found after %llu ms",
				   (unsigned long long)(now - killed) / 1000000);
		if (got == 1) {
			if (!is_int(in.src, 2) || !ok(is_filled(in.buf, in.len, in.len)))
				return false;
			OPS->release(a->link, in.cookie);
		}
		if (!okf(now - start < PATIENCE_NS, "death not found"))
			return false;
	}
}

static void kill_rounds(const char *options, int rounds)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static char memory[200000];
	struct pm_link_peer *peer, *to_third;
	uint64_t random = tap_seed(), rkey;
	struct node a, third;
	struct pm_inbound in;

	links_begin();
	must(is_int(node_open(&a, 1, options), 0));
	must(is_int(node_open(&third, 3, options), 0));
	must(is_int(node_add(&a, 3, &third, &to_third), 0));
	must(is_int(region_add(a.regions, memory, sizeof(memory), &rkey), 0));
	for (int round = 0; round < rounds && !tap_has_failed(); round++) {
		uint64_t seed = tap_rand(&random);
		pid_t pid;

		shared->is_open = 0;
		shared->victim_is_mad = 0;
		pid = fork();
		if (!pid) {
			/* the descriptions of the parent's links must not live on in the child */
			close_range(3, ~0u, 0);
			be_victim(shared, &a, rkey, seed);
		}
		must(pid > 0);
		for (uint64_t start = clock_monotonic_ns(); !shared->is_open;)
			must(clock_monotonic_ns() - start < PATIENCE_NS);
		must(is_int(node_add(&a, 2, &shared->child, &peer), 0));
		if (!outlive(&a, &peer, pid, tap_rand(&random) % 4000000))
			break;
		is_int(node_send(&a, peer, 10, 1), -EPIPE);
		is_int(OPS->send_done(a.link, peer), -EPIPE);
		OPS->peer_del(a.link, peer);
		/* the others go on */
		is_int(node_send(&a, to_third, 2000, round), 0);
		must(is_int(node_receive(&third, &in), 1));
		ok(is_filled(in.buf, 2000, round));
		OPS->release(third.link, in.cookie);
	}
	is_int(OPS->receive(a.link, &in), 0);
	node_close(&third);
	node_close(&a);
	links_end();
	munmap(shared, sizeof(*shared));
}

TAP_TEST(peer__killed_at_random_moments)
{
	kill_rounds(NULL, 50);
}

TAP_TEST(peer__killed_while_copying_across_address_spaces)
{
	kill_rounds("shmem.large=cma", 20);
}

TAP_TEST(peer__killed_jobs_are_swept)
{
	struct node n;
	int status;
	pid_t pid;

	links_begin();
	for (uint64_t job = 1; job <= 3; job++) {
		pid = fork();
		if (!pid) {
			if (node_open_job(&n, job, 1, NULL))
				_exit(1);
			kill(getpid(), SIGKILL);
		}
		must(pid > 0);
		waitpid(pid, &status, 0);
		ok(WIFSIGNALED(status));
	}
	/* one of the same job, which takes the segment over, and sweeps the others */
	must(is_int(node_open_job(&n, 2, 1, NULL), 0));
	node_close(&n);
	links_end();
}

/* ---- nonsense ---- */

TAP_TEST(peer__writes_nonsense)
{
	struct pm_link_peer *to_b, *to_c;
	struct node a, b, c;
	struct pm_inbound in;
	uint64_t cookie;
	void *buf;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	must(is_int(node_open(&c, 3, NULL), 0));
	must(is_int(node_add(&a, 2, &b, &to_b), 0));
	must(is_int(node_add(&c, 2, &b, &to_c), 0));
	/* a length beyond what was reserved: the ring's own check is on the receiving side */
	must(is_int(OPS->get_send(a.link, to_b, 1000, &buf, &cookie), 0));
	is_int(OPS->send(a.link, to_b, cookie, 60000), 0);
	is_int(node_receive(&b, &in), -EPIPE);
	is_int(in.src, 1);
	ok(strstr(b.why, "nonsense"));
	is_int(node_send(&c, to_c, 100, 1), 0);
	is_int(node_receive(&b, &in), 1);
	is_int(in.src, 3);
	OPS->release(b.link, in.cookie);
	node_close(&a);
	node_close(&c);
	node_close(&b);
	links_end();
}
