// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads of exported regions: complete without the owner, given up when the region or the owner
 * goes.
 */
#include "pm-shmem/bulk.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

#define SIZE 3000000
#define OPTIONS "shmem.large=cma"

static struct node a, b;
static struct pm_link_peer *to_b;
static uint8_t memory[SIZE], local[SIZE];
static uint64_t rkey;

static void export_memory(void)
{
	is_int(region_add(b.regions, memory, SIZE, &rkey), 0);
	OPS->exported(b.link, rkey, memory, SIZE);
}

static void unexport_memory(void)
{
	uint64_t len;
	void *addr;

	is_int(region_remove(b.regions, rkey, &addr, &len), 0);
	OPS->unexport(b.link, rkey, addr, len);
}

static bool begin(const char *options)
{
	links_begin();
	fill(memory, SIZE, 5);
	memset(local, 0, SIZE);
	if (!is_int(node_open(&a, 1, options), 0) || !is_int(node_open(&b, 2, options), 0) ||
	    !is_int(node_add(&a, 2, &b, &to_b), 0))
		return false;
	export_memory();
	return true;
}

static void end(void)
{
	node_close(&a);
	node_close(&b);
	links_end();
}

/* Polls the reader only. */
static int complete_alone(uint32_t op)
{
	uint64_t start = clock_monotonic_ns();
	struct pm_inbound in;
	int err;

	while ((err = OPS->rma_done(a.link, op)) == -EAGAIN) {
		is_int(OPS->receive(a.link, &in), 0);
		if (clock_monotonic_ns() - start > PATIENCE_NS)
			break;
	}
	return err;
}

static int complete(uint32_t op)
{
	uint64_t start = clock_monotonic_ns();
	struct pm_inbound in;
	int err;

	while ((err = OPS->rma_done(a.link, op)) == -EAGAIN) {
		is_int(OPS->receive(a.link, &in), 0);
		is_int(OPS->receive(b.link, &in), 0);
		if (clock_monotonic_ns() - start > PATIENCE_NS)
			break;
	}
	return err;
}

TAP_TEST(direct__the_owner_does_nothing)
{
	uint32_t op;

	must(begin(OPTIONS));
	must(is_int(OPS->read(a.link, to_b, rkey, 7, local, 100000, &op), 0));
	must(is_int(OPS->rma_done(a.link, op), 0));
	is_int(OPS->rma_done(a.link, op), -ENOENT);
	is_mem(local, memory + 7, 100000);
	is_int(local[100000], 0);
	is_int(a.stats.read_bytes, 100000);
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, SIZE, &op), 0));
	must(is_int(complete_alone(op), 0));
	is_mem(local, memory, SIZE);
	is_int(OPS->quiesce(a.link), 0);
	end();
}

TAP_TEST(direct__what_is_not_exported_is_asked_for)
{
	uint32_t op;

	must(begin(OPTIONS));
	must(is_int(OPS->read(a.link, to_b, rkey, 1, local, SIZE, &op), 0));
	is_int(complete(op), -EACCES);
	must(is_int(OPS->read(a.link, to_b, rkey + 1, 0, local, 100000, &op), 0));
	is_int(complete(op), -EACCES);
	unexport_memory();
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, 100000, &op), 0));
	is_int(complete(op), -EACCES);
	is_int(region_add(b.regions, memory, SIZE, &rkey), 0); /* in the table only */
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, 100000, &op), 0));
	is_int(complete(op), 0);
	is_mem(local, memory, 100000);
	end();
}

TAP_TEST(direct__with_the_ring_nothing_is_read_by_ourselves)
{
	uint32_t op;

	must(begin("shmem.large=ring"));
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, 100000, &op), 0));
	is_int(OPS->rma_done(a.link, op), -EAGAIN);
	is_int(complete(op), 0);
	is_mem(local, memory, 100000);
	end();
}

TAP_TEST(direct__the_region_goes_between_two_pieces)
{
	uint32_t op;

	must(begin(OPTIONS));
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, SIZE, &op), 0));
	is_int(OPS->rma_done(a.link, op), -EAGAIN);
	unexport_memory();
	is_int(complete_alone(op), -EACCES);
	is_int(OPS->quiesce(a.link), 0);
	end();
}

TAP_TEST(direct__the_peer_goes_between_two_pieces)
{
	uint32_t op;

	must(begin(OPTIONS));
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, SIZE, &op), 0));
	OPS->peer_del(a.link, to_b);
	is_int(OPS->rma_done(a.link, op), -EPIPE);
	is_int(OPS->quiesce(a.link), 0);
	end();
}

/* The address and the region of an owner in another process. */
struct offer {
	uint8_t address[256];
	size_t address_len;
	uint64_t rkey;
};

/* Exports, tells the parent, and waits to be killed. */
static void own(int out)
{
	struct offer offer = {.address_len = 0};

	if (node_open(&b, 2, OPTIONS) || region_add(b.regions, memory, SIZE, &rkey))
		_exit(1);
	OPS->exported(b.link, rkey, memory, SIZE);
	memcpy(offer.address, b.address, b.address_len);
	offer.address_len = b.address_len;
	offer.rkey = rkey;
	if (write(out, &offer, sizeof(offer)) != sizeof(offer))
		_exit(1);
	for (;;)
		pause();
}

TAP_TEST(direct__the_owner_is_killed)
{
	struct offer offer;
	struct pm_inbound in;
	uint32_t op;
	int fds[2], err;
	pid_t pid;

	links_begin();
	fill(memory, SIZE, 5);
	must(is_int(node_open(&a, 1, OPTIONS), 0) && !pipe(fds));
	pid = fork();
	if (!pid)
		own(fds[1]);
	must(pid > 0 && read(fds[0], &offer, sizeof(offer)) == sizeof(offer));
	must(is_int(OPS->peer_add(a.link, 2, offer.address, offer.address_len, &to_b), 0));
	must(is_int(OPS->read(a.link, to_b, offer.rkey, 0, local, 500000, &op), 0));
	is_int(OPS->rma_done(a.link, op), 0);
	is_mem(local, memory, 500000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	err = OPS->read(a.link, to_b, offer.rkey, 0, local, 500000, &op);
	for (uint64_t start = clock_monotonic_ns();
	     !err && (err = OPS->rma_done(a.link, op)) == -EAGAIN &&
	     clock_monotonic_ns() - start < PATIENCE_NS;
	     err = 0)
		OPS->receive(a.link, &in);
	is_int(err, -EPIPE);
	node_close(&a);
	close(fds[0]);
	close(fds[1]);
	links_end();
}

/* The program may use the memory for something else from then on. */
TAP_TEST(direct__the_owner_closes_its_context)
{
	uint32_t op;

	must(begin(OPTIONS));
	must(is_int(OPS->read(a.link, to_b, rkey, 0, local, 100000, &op), 0));
	is_int(OPS->rma_done(a.link, op), 0);
	node_close(&b);
	memset(memory, 0xee, SIZE);
	if (!OPS->read(a.link, to_b, rkey, 0, local, 100000, &op))
		is_int(complete_alone(op), -EPIPE);
	okf(local[0] != 0xee, "data of another use");
	node_close(&a);
	links_end();
}
