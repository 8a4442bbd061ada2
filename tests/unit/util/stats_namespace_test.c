// SPDX-License-Identifier: BSD-3-Clause
/* stats: counters of a process in a pid namespace, which the host has another number for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmcore/util/pidns.h"
#include "pmcore/util/stats.h"
#include "tests/harness/nschild.h"
#include "tests/harness/tap.h"

static uint32_t node; /* of the last page that was seen */

static int on_page(void *arg, const struct stats_page *page)
{
	const uint32_t *pid = arg;

	is_int(page->pid, *pid);
	node = page->node;
	return 0;
}

/* A context of a process that has namespaces of its own, and finds the host's files at PM_STATS. */
static void open_inside(void *arg)
{
	struct stats *stats;

	(void)arg;
	setenv(STATS_VARIABLE, "/dev/shm", 1);
	if (stats_create(7, &stats))
		_exit(1);
}

TAP_TEST(stats_visit__writer_in_a_pid_namespace)
{
	struct stats_page page;
	struct nschild child;
	struct stats *stats;
	uint32_t pid;
	char path[96];
	uint64_t ns;

	if (!nschild_begin(&child, open_inside, NULL))
		return;
	ns = pidns_of(child.pid);
	pid = (uint32_t)child.pid;
	node = 0;
	is_int(stats_visit(pid, on_page, &pid), 1);
	is_int(node, 7);
	/* By no other number. */
	node = 0;
	ok(stats_visit(1, on_page, &(uint32_t){1}) >= 0);
	ok(node != 7);
	is_int(stats_read(geteuid(), ns, 1, 0, &page), 0);
	is_int(page.node, 7);
	is_int(stats_read(geteuid(), 0, 1, 0, &page), -ENOENT);
	is_int(stats_read(geteuid(), ns + 1, 1, 0, &page), -ENOENT);
	nschild_end(&child);
	is_int(stats_read(geteuid(), ns, 1, 0, &page), -ESTALE);
	/* The next context of the user sweeps it. */
	is_int(stats_create(8, &stats), 0);
	snprintf(path, sizeof(path), "/dev/shm/openscore-stat.%u.1.0@%llu", (unsigned int)geteuid(),
		 (unsigned long long)ns);
	ok(access(path, F_OK) < 0);
	stats_destroy(stats);
}
