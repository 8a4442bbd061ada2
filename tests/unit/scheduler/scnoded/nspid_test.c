// SPDX-License-Identifier: BSD-3-Clause
/* nspid: numbers that a scstepd tells. Control groups are fakes, processes are real. */
#include "scheduler/scnoded/nspid.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/harness/nschild.h"
#include "tests/harness/tap.h"

static pid_t group[2];

ssize_t cgroup_pids(const struct cgroup *g, pid_t **pids)
{
	(void)g;
	*pids = calloc(2, sizeof(**pids));
	if (!*pids)
		return -ENOMEM;
	(*pids)[0] = group[0] < group[1] ? group[0] : group[1];
	(*pids)[1] = group[0] < group[1] ? group[1] : group[0];
	return 2;
}

bool cgroup_has(const pid_t *pids, size_t n, pid_t pid)
{
	return n == 2 && (pids[0] == pid || pids[1] == pid);
}

TAP_TEST(nspid_of__without_a_namespace)
{
	struct step step = {.group = (struct cgroup *)group, .pid = getppid()};
	struct pidns_table table;

	group[0] = getpid();
	group[1] = getppid();
	is_int(nspid_list(&step, &table), 0);
	is_int(table.n, 0);
	is_int(nspid_of(&step, &table, getpid()), getpid());
	is_int(nspid_of(&step, &table, 1), 0);
	is_int(nspid_of(&step, &table, 0), 0);
	is_int(nspid_of(&step, &table, -1), 0);
	is_int(nspid_of(&step, &table, (1ll << 32) + getpid()), 0);
	ok(nspid_is_scstepd(&step, getppid()));
	ok(!nspid_is_scstepd(&step, getpid()));
	step.pid = 0;
	ok(!nspid_is_scstepd(&step, 0));
}

static void have_child(void *arg)
{
	int *fds = arg;
	pid_t pid = fork();

	if (!pid) {
		/* Until process 1 ends. */
		for (;;)
			pause();
	}
	if (write(fds[1], &pid, sizeof(pid)) < 0)
		_exit(1);
}

/* The host's number of the child of process 1. */
static pid_t child_of(uint64_t ns, pid_t inner)
{
	struct pidns_table all = {0};
	pid_t pid = pidns_add_all(&all) ? 0 : pidns_find(&all, ns, inner);

	pidns_fini(&all);
	return pid;
}

TAP_TEST(nspid_of__in_a_namespace)
{
	struct step step = {.group = (struct cgroup *)group};
	struct pidns_table table;
	struct nschild init;
	pid_t inner = 0, outer;
	int fds[2];

	must(!pipe(fds));
	if (!nschild_begin(&init, have_child, fds))
		return;
	is_int(read(fds[0], &inner, sizeof(inner)), sizeof(inner));
	step.pid = init.pid;
	step.ns = pidns_of(init.pid);
	outer = child_of(step.ns, inner);
	must(outer > 1 && outer != inner);
	group[0] = init.pid;
	group[1] = outer;
	is_int(nspid_list(&step, &table), 0);
	is_int(table.n, 2);
	is_int(nspid_of(&step, &table, inner), outer);
	/* Process 1 is nobody's rank, and the host's numbers are none that a scstepd knows. */
	is_int(nspid_of(&step, &table, 1), 0);
	is_int(nspid_of(&step, &table, outer), 0);
	is_int(nspid_of(&step, &table, getpid()), 0);
	is_int(nspid_of(&step, &table, (1ll << 32) + inner), 0);
	ok(nspid_is_scstepd(&step, outer));
	ok(!nspid_is_scstepd(&step, init.pid));
	ok(!nspid_is_scstepd(&step, getpid()));
	/* Out of the group by now. */
	group[1] = getpid();
	is_int(nspid_of(&step, &table, inner), 0);
	/* The process of the group is of another namespace. */
	is_int(nspid_of(&step, &table, getpid()), 0);
	nschild_end(&init);
	pidns_fini(&table);
	close(fds[0]);
	close(fds[1]);
}
