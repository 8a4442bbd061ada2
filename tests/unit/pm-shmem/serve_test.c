// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

#define SIZE 1000000

/* Both ways with "cma" where it is refused; 0, or the line of the failure. */
static int transfer_refused(int error)
{
	static uint8_t memory[SIZE], local[SIZE];
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;
	uint64_t rkey;
	uint32_t op;
	int err;

	if (!refuse_calls(SYS_process_vm_readv, SYS_process_vm_writev, (unsigned int)error))
		return 77;
	if (node_open(&a, 1, "shmem.large=cma") || node_open(&b, 2, "shmem.large=cma") ||
	    node_add(&a, 2, &b, &peer) || region_add(b.regions, memory, SIZE, &rkey))
		return __LINE__;
	for (int i = 0; i < 4; i++) {
		fill(i & 1 ? local : memory, SIZE, 7 + i);
		err = i & 1 ? OPS->write(a.link, peer, rkey, 0, local, SIZE, &op)
			    : OPS->read(a.link, peer, rkey, 0, local, SIZE, &op);
		if (err)
			return __LINE__;
		while ((err = OPS->rma_done(a.link, op)) == -EAGAIN)
			if (OPS->receive(a.link, &in) || OPS->receive(b.link, &in))
				return __LINE__;
		if (err || !is_filled(i & 1 ? memory : local, SIZE, 7 + i))
			return __LINE__;
	}
	node_close(&a);
	node_close(&b);
	return 0;
}

static void refused(int error)
{
	int status;
	pid_t pid;

	links_begin();
	pid = fork();
	if (!pid)
		_exit(transfer_refused(error));
	must(pid > 0);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("seccomp filters are not available");
	else
		is_int(status, 0);
	links_end();
}

TAP_TEST(serve__cma_not_permitted)
{
	refused(EPERM);
}

TAP_TEST(serve__cma_not_in_this_kernel)
{
	refused(ENOSYS);
}

TAP_TEST(serve__bad_memory_of_the_initiator)
{
	static uint8_t memory[SIZE];
	uint8_t *local = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;
	uint64_t rkey;
	uint32_t op;
	int err;

	links_begin();
	must(is_int(node_open(&a, 1, "shmem.large=cma"), 0));
	must(is_int(node_open(&b, 2, "shmem.large=cma"), 0));
	must(is_int(node_add(&a, 2, &b, &peer), 0));
	must(is_int(region_add(b.regions, memory, SIZE, &rkey), 0));
	must(is_int(OPS->read(a.link, peer, rkey, 0, local, SIZE, &op), 0));
	while ((err = OPS->rma_done(a.link, op)) == -EAGAIN) {
		is_int(OPS->receive(a.link, &in), 0);
		is_int(OPS->receive(b.link, &in), 0);
	}
	is_int(err, -EFAULT);
	node_close(&a);
	node_close(&b);
	links_end();
	munmap(local, SIZE);
}
