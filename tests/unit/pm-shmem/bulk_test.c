// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/bulk.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

#define SIZE 3000000

static struct node a, b;
static struct pm_link_peer *to_a, *to_b;
static uint8_t memory_a[SIZE], memory_b[SIZE];
static uint64_t rkey_a, rkey_b;

static bool begin(const char *options)
{
	links_begin();
	memset(memory_a, 0, SIZE);
	fill(memory_b, SIZE, 5);
	return is_int(node_open(&a, 1, options), 0) && is_int(node_open(&b, 2, options), 0) &&
	       is_int(node_add(&a, 2, &b, &to_b), 0) && is_int(node_add(&b, 1, &a, &to_a), 0) &&
	       is_int(region_add(a.regions, memory_a, SIZE, &rkey_a), 0) &&
	       is_int(region_add(b.regions, memory_b, SIZE, &rkey_b), 0);
}

static void end(void)
{
	node_close(&a);
	node_close(&b);
	links_end();
}

static void poll_both(void)
{
	struct pm_inbound in;

	is_int(OPS->receive(a.link, &in), 0);
	is_int(OPS->receive(b.link, &in), 0);
}

static int complete(struct node *n, uint32_t op)
{
	uint64_t start = clock_monotonic_ns();
	int err;

	while ((err = OPS->rma_done(n->link, op)) == -EAGAIN) {
		poll_both();
		if (clock_monotonic_ns() - start > PATIENCE_NS)
			break;
	}
	return err;
}

static void every_length(const char *options)
{
	static uint8_t local[SIZE];
	uint32_t op;

	must(begin(options));
	for (uint64_t len = 0; len <= SIZE; len = len < 40 ? len + 1 : len * 3 + 1) {
		memset(local, 0, sizeof(local));
		must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, len, &op), 0));
		must(is_int(complete(&a, op), 0));
		is_int(OPS->rma_done(a.link, op), -ENOENT);
		ok(is_filled(local, len, 5));
		ok(len == SIZE || !local[len]);
		fill(local, len, len);
		must(is_int(OPS->write(b.link, to_a, rkey_a, SIZE - len, local, len, &op), 0));
		must(is_int(complete(&b, op), 0));
		ok(is_filled(memory_a + SIZE - len, len, len));
	}
	ok(a.stats.read_bytes > SIZE / 3);
	is_int(a.stats.read_bytes, b.stats.write_bytes);
	end();
}

TAP_TEST(rma__every_length_by_ring)
{
	every_length("shmem.large=ring");
}

TAP_TEST(rma__every_length_across_address_spaces)
{
	every_length("shmem.large=cma");
}

TAP_TEST(rma__every_length_by_the_measured_way)
{
	every_length(NULL);
}

static void many_at_once(const char *options)
{
	static uint8_t local[100][20000];
	uint32_t ops[100], n = 0, done = 0;
	bool is_done[100] = {false};

	must(begin(options));
	while (n < 100) {
		int err = n & 1 ? OPS->read(a.link, to_b, rkey_b, n, local[n], sizeof(local[n]),
					    &ops[n])
				: OPS->write(a.link, to_b, rkey_b, SIZE - 20000 * (n + 1), local[n],
					     sizeof(local[n]), &ops[n]);

		n += !err;
		if (err)
			must(is_int(err, -EAGAIN));
		poll_both();
	}
	for (uint64_t start = clock_monotonic_ns(); done < 100;) {
		for (uint32_t i = 0; i < 100; i++) {
			int err = is_done[i] ? -EAGAIN : OPS->rma_done(a.link, ops[i]);

			is_done[i] |= !err;
			done += !err;
			ok(!err || err == -EAGAIN);
		}
		poll_both();
		must(clock_monotonic_ns() - start < PATIENCE_NS);
	}
	for (uint32_t i = 1; i < 100; i += 2)
		is_mem(local[i], memory_b + i, 20000);
	is_int(OPS->quiesce(a.link), 0);
	is_int(OPS->quiesce(b.link), 0);
	end();
}

TAP_TEST(rma__many_at_once)
{
	many_at_once("shmem.large=ring");
}

TAP_TEST(rma__many_at_once_across_address_spaces)
{
	many_at_once("shmem.large=cma");
}

TAP_TEST(rma__a_short_one_overtakes_a_long_one)
{
	static uint8_t local[SIZE], small[8];
	uint32_t op_long, op_short;
	int rounds = 0;

	must(begin("shmem.large=ring"));
	must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &op_long), 0));
	must(is_int(OPS->read(a.link, to_b, rkey_b, 0, small, 8, &op_short), 0));
	while (OPS->rma_done(a.link, op_short) == -EAGAIN && rounds++ < 100)
		poll_both();
	is_int(OPS->rma_done(a.link, op_long), -EAGAIN);
	is_int(complete(&a, op_long), 0);
	end();
}

TAP_TEST(rma__bad_key_or_range)
{
	static uint8_t local[100000];
	uint32_t op;

	must(begin(NULL));
	must(is_int(OPS->read(a.link, to_b, rkey_b + 1, 0, local, 100, &op), 0));
	is_int(complete(&a, op), -EACCES);
	must(is_int(OPS->write(a.link, to_b, rkey_b, SIZE - 10, local, 11, &op), 0));
	is_int(complete(&a, op), -EACCES);
	must(is_int(OPS->write(a.link, to_b, rkey_b, UINT64_MAX - 5, local, 100000, &op), 0));
	is_int(complete(&a, op), -EACCES);
	ok(is_filled(memory_b, SIZE, 5));
	is_int(OPS->rma_done(a.link, 12345), -ENOENT);
	end();
}

static void read_only_region(const char *options)
{
	static uint8_t local[100000];
	uint64_t rkey;
	uint32_t op;

	must(begin(options));
	must(is_int(region_add_readonly(b.regions, memory_b, SIZE, &rkey), 0));
	must(is_int(OPS->write(a.link, to_b, rkey, 0, local, sizeof(local), &op), 0));
	is_int(complete(&a, op), -EACCES);
	ok(is_filled(memory_b, SIZE, 5));
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, sizeof(local), &op), 0));
	is_int(complete(&a, op), 0);
	ok(is_filled(local, sizeof(local), 5));
	end();
}

TAP_TEST(rma__read_only_region)
{
	read_only_region("shmem.large=ring");
	read_only_region("shmem.large=cma");
}

TAP_TEST(rma__refused_with_any_number)
{
	static const int said[] = {0, -EACCES, -EAGAIN, -EPIPE, -ENOENT, -4096, INT32_MIN, -ENOSPC};
	static uint8_t local[8];
	struct pms_bulk *bulk;
	struct pm_inbound in;
	uint32_t op;

	must(begin("shmem.large=ring"));
	must(is_int(pms_bulk_get(pms_of(b.link), to_a, &bulk), 0));
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct pms_chunk chunk = {.kind = PMS_CHUNK_REFUSE, .error = said[i]};

		must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, 8, &op), 0));
		chunk.op = op;
		pms_chunk_put(&bulk->tx, &chunk);
		is_int(OPS->receive(a.link, &in), 0);
		is_int(OPS->rma_done(a.link, op), said[i] == -ENOSPC ? -ENOSPC : -EACCES);
		is_int(OPS->rma_done(a.link, op), -ENOENT);
	}
	end();
}

static int use_up_space(void)
{
	static const char page[4096] = {1};
	char name[96];
	int fd;

	snprintf(name, sizeof(name), "%s/filler", links_dir);
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	while (write(fd, page, sizeof(page)) > 0)
		;
	return errno;
}

/*
 * Reads and writes when others have filled the file system since the contact; the line that failed.
 */
static int move_on_full(void)
{
	static uint8_t local[SIZE];
	uint32_t op;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", links_dir, "tmpfs", 0, "size=1m"))
		return 77;
	fill(memory_b, SIZE, 5);
	if (node_open(&a, 1, "shmem.large=ring") || node_open(&b, 2, "shmem.large=ring") ||
	    node_add(&a, 2, &b, &to_b) || region_add(b.regions, memory_b, SIZE, &rkey_b))
		return 1;
	if (use_up_space() != ENOSPC)
		return 2;
	if (OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &op) || complete(&a, op) ||
	    !is_filled(local, SIZE, 5))
		return 3;
	fill(local, SIZE, 6);
	if (OPS->write(a.link, to_b, rkey_b, 0, local, SIZE, &op) || complete(&a, op) ||
	    !is_filled(memory_b, SIZE, 6))
		return 4;
	node_close(&a);
	node_close(&b);
	return 0;
}

TAP_TEST(rma__on_a_full_file_system)
{
	int status;
	pid_t pid;

	links_begin();
	pid = fork();
	if (!pid)
		_exit(move_on_full());
	must(pid > 0);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("cannot mount a file system here");
	else
		is_int(status, 0);
	links_end();
}

TAP_TEST(unexport__in_the_middle)
{
	static uint8_t local[SIZE];
	uint32_t read_op, write_op;
	uint64_t len;
	void *addr;

	for (int rounds = 0; rounds < 40 && !tap_has_failed(); rounds++) {
		must(begin(rounds & 1 ? "shmem.large=cma" : "shmem.large=ring"));
		must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &read_op), 0));
		must(is_int(OPS->write(a.link, to_b, rkey_b, 0, local, SIZE, &write_op), 0));
		for (int i = 0; i < rounds / 2; i++)
			poll_both();
		is_int(region_remove(b.regions, rkey_b, &addr, &len), 0);
		OPS->unexport(b.link, rkey_b, addr, len);
		memset(memory_b, 0xee, SIZE);
		ok(complete(&a, read_op) != -EAGAIN);
		ok(complete(&a, write_op) != -EAGAIN);
		for (size_t i = 0; i < SIZE; i++)
			if (!okf(memory_b[i] == 0xee, "byte %zu touched in round %d", i, rounds))
				break;
		is_int(OPS->quiesce(b.link), 0);
		end();
	}
}

TAP_TEST(peer_del__gives_up_operations)
{
	static uint8_t local[SIZE];
	uint32_t read_op, write_op;

	for (int rounds = 0; rounds < 40 && !tap_has_failed(); rounds++) {
		must(begin(rounds & 1 ? "shmem.large=cma" : "shmem.large=ring"));
		must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &read_op), 0));
		must(is_int(OPS->write(a.link, to_b, rkey_b, 0, memory_a, SIZE, &write_op), 0));
		for (int i = 0; i < rounds / 2; i++)
			poll_both();
		OPS->peer_del(a.link, to_b);
		memset(local, 0xee, SIZE);
		ok(complete(&a, read_op) != -EAGAIN);
		ok(complete(&a, write_op) != -EAGAIN);
		for (size_t i = 0; i < SIZE; i++)
			if (!okf(local[i] == 0xee, "byte %zu touched in round %d", i, rounds))
				break;
		is_int(OPS->quiesce(b.link), 0);
		/* and the pair still works */
		must(is_int(node_add(&a, 2, &b, &to_b), 0));
		must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &read_op), 0));
		is_int(complete(&a, read_op), 0);
		end();
	}
}

/* The ring is full, so the request waits behind it: the peer never hears of the operation. */
TAP_TEST(peer_del__requests_that_have_not_left)
{
	static uint8_t local[SIZE];
	uint32_t op;

	must(begin("shmem.large=ring"));
	while (!OPS->post(a.link, to_b, local, 32))
		;
	must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &op), 0));
	must(ok(to_b->queue));
	is_int(OPS->rma_done(a.link, op), -EAGAIN);
	OPS->peer_del(a.link, to_b);
	is_int(OPS->rma_done(a.link, op), -EPIPE);
	end();
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The peer was stopped in the middle of a piece, and goes on after some time. */
static void *go_on_later(void *arg)
{
	static const struct timespec pause = {.tv_nsec = 400000000};
	_Atomic uint64_t *lease = arg;

	nanosleep(&pause, NULL);
	atomic_fetch_xor(lease, PMS_LEASE_GIVEN ^ PMS_LEASE_IN_USE);
	return NULL;
}

TAP_TEST(peer_del__a_stopped_peer_holds_a_lease)
{
	static uint8_t local[SIZE];
	_Atomic uint64_t *lease;
	uint64_t start, cpu;
	pthread_t thread;
	uint32_t op;

	must(begin("shmem.large=cma"));
	must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, SIZE, &op), 0));
	lease = &to_b->bulk->tx.head->leases[0];
	must(is_int(*lease & 0xff, PMS_LEASE_GIVEN));
	atomic_fetch_xor(lease, PMS_LEASE_GIVEN ^ PMS_LEASE_IN_USE);
	must(is_int(pthread_create(&thread, NULL, go_on_later, lease), 0));
	start = clock_monotonic_ns();
	cpu = thread_cpu_ns();
	OPS->peer_del(a.link, to_b);
	cpu = thread_cpu_ns() - cpu;
	/*
	 * our memory is not given up while the peer may write to it; waiting costs next to nothing
	 */
	ok(clock_monotonic_ns() - start > 300000000);
	okf(cpu < 100000000, "%llu ns of work", (unsigned long long)cpu);
	is_int(*lease, 0);
	pthread_join(thread, NULL);
	is_int(complete(&a, op), -EPIPE);
	end();
}

TAP_TEST(rma__more_than_there_are_places)
{
	static uint8_t local[8];
	uint32_t ops[PMS_OPS + 1], n = 0;

	must(begin(NULL));
	while (!OPS->read(a.link, to_b, rkey_b, 0, local, 8, &ops[n]))
		n++;
	is_int(n, PMS_OPS);
	while (n-- > 0)
		is_int(complete(&a, ops[n]), 0);
	is_int(OPS->read(a.link, to_b, rkey_b, 0, local, 8, ops), 0);
	is_int(complete(&a, ops[0]), 0);
	end();
}

TAP_TEST(rma__answers_of_a_process_that_then_closed)
{
	static uint8_t local[60000];
	struct pm_inbound in;
	uint32_t op;

	must(begin("shmem.large=ring"));
	must(is_int(OPS->read(a.link, to_b, rkey_b, 0, local, sizeof(local), &op), 0));
	for (int i = 0; i < 50; i++)
		is_int(OPS->receive(b.link, &in), 0);
	node_close(&b);
	for (uint64_t start = clock_monotonic_ns(); clock_monotonic_ns() - start < 150000000;)
		is_int(OPS->receive(a.link, &in), 0);
	is_int(OPS->rma_done(a.link, op), 0);
	ok(is_filled(local, sizeof(local), 5));
	is_int(OPS->read(a.link, to_b, rkey_b, 0, local, sizeof(local), &op), -EPIPE);
	node_close(&a);
	links_end();
}
