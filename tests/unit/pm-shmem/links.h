/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test support: shmem links in a private directory, and the two or three steps of every message.
 */
#ifndef TESTS_UNIT_PM_SHMEM_LINKS_H
#define TESTS_UNIT_PM_SHMEM_LINKS_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pm-shmem/shmem.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/region.h"
#include "pmcore/util/stats.h"
#include "tests/harness/tap.h"

#define OPS (&pm_shmem_ops)
#define PATIENCE_NS 20000000000ull /* a wait that takes longer has failed */

/* One opened link and what it was opened with. */
struct node {
	struct pm_link *link;
	struct region_table *regions;
	struct stats_link stats;
	struct conf conf;
	char why[256];
	_Alignas(8) uint8_t address[256];
	size_t address_len;
};

/* From here on the system calls @first and @second give @error in this process. */
static inline bool refuse_calls(unsigned int first, unsigned int second, unsigned int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A directory of the test's own below /dev/shm. */
static char links_dir[64];

static inline void links_begin(void)
{
	snprintf(links_dir, sizeof(links_dir), "/dev/shm/pms-test-XXXXXX");
	if (!mkdtemp(links_dir))
		abort();
}

/* Fails the test when a link left files behind. */
static inline void links_end(void)
{
	if (!okf(rmdir(links_dir) == 0, "%s is not empty: %m", links_dir)) {
		char command[256];

		snprintf(command, sizeof(command), "ls -lR %s; rm -rf %s", links_dir, links_dir);
		if (system(command))
			tap_diag("cannot remove %s", links_dir);
	}
}

static inline int node_open_job(struct node *n, uint64_t job, uint32_t self, const char *options)
{
	struct pm_device_env env = {
		.conf = &n->conf,
		.stats = &n->stats,
		.job_key = job,
		.self = self,
		.why = n->why,
		.why_size = sizeof(n->why),
	};
	int err;

	memset(n, 0, sizeof(*n));
	conf_defaults(&n->conf);
	if (options && conf_parse(&n->conf, options, n->why, sizeof(n->why)))
		return -EINVAL;
	snprintf(n->conf.shmem_dir, sizeof(n->conf.shmem_dir), "%s", links_dir);
	n->regions = region_table_create(self + 99);
	env.regions = n->regions;
	err = OPS->open(&env, &n->link);
	if (err) {
		region_table_destroy(n->regions);
		return err;
	}
	n->address_len = (size_t)OPS->address(n->link, n->address, sizeof(n->address));
	return 0;
}

static inline int node_open(struct node *n, uint32_t self, const char *options)
{
	return node_open_job(n, 4711, self, options);
}

static inline void node_close(struct node *n)
{
	OPS->close(n->link);
	region_table_destroy(n->regions);
}

static inline int node_add(struct node *n, uint32_t number, const struct node *other,
			   struct pm_link_peer **ret_peer)
{
	return OPS->peer_add(n->link, number, other->address, other->address_len, ret_peer);
}

/* Bytes that tell where they belong. */
static inline uint8_t pattern(uint64_t seed, size_t i)
{
	return (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static inline void fill(void *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = pattern(seed, i);
}

static inline bool is_filled(const void *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *)buf)[i] != pattern(seed, i))
			return false;
	return true;
}

/* Sends @len bytes of pattern @seed; what get_send says. */
static inline int node_send(struct node *n, struct pm_link_peer *peer, uint32_t len, uint64_t seed)
{
	uint64_t cookie;
	void *buf;
	int err = OPS->get_send(n->link, peer, len, &buf, &cookie);

	if (err)
		return err;
	fill(buf, len, seed);
	return OPS->send(n->link, peer, cookie, len);
}

/* Polls until something comes: 1, an error, or 0 when patience is at an end. */
static inline int node_receive(struct node *n, struct pm_inbound *in)
{
	uint64_t start = clock_monotonic_ns();
	int got;

	while (!(got = OPS->receive(n->link, in)))
		if (clock_monotonic_ns() - start > PATIENCE_NS)
			return 0;
	return got;
}

#endif
