// SPDX-License-Identifier: BSD-3-Clause
/* pidns: numbers of processes, here and in a namespace further in. */
#include "pmcore/util/pidns.h"

#include <limits.h>

#include "tests/harness/nschild.h"
#include "tests/harness/tap.h"

TAP_TEST(pidns_last__of_a_line)
{
	is_int(pidns_last("\t4711\n"), 4711);
	is_int(pidns_last("\t4711\t12\t1\n"), 1);
	is_int(pidns_last("\n"), 0);
	is_int(pidns_last("\tx\n"), 0);
	is_int(pidns_last("\t-3\n"), 0);
	is_int(pidns_last("\t4294967297\n"), 0);
}

TAP_TEST(pidns_of__ourselves)
{
	ok(pidns_self() != 0);
	ok(pidns_of(getpid()) == pidns_self());
	is_int(pidns_inner(getpid()), getpid());
	is_int(pidns_parent(getpid()), getppid());
}

TAP_TEST(pidns_of__nobody)
{
	ok(pidns_of(INT_MAX) == 0);
	is_int(pidns_inner(INT_MAX), 0);
	is_int(pidns_parent(INT_MAX), 0);
}

TAP_TEST(pidns_find__a_child_in_another)
{
	struct pidns_table table = {0}, all = {0};
	struct nschild child;
	uint64_t ns;

	if (!nschild_begin(&child, NULL, NULL))
		return;
	ns = pidns_of(child.pid);
	ok(ns && ns != pidns_self());
	is_int(pidns_inner(child.pid), 1);
	is_int(pidns_parent(child.pid), getpid());
	is_int(pidns_add(&table, child.pid), 0);
	is_int(pidns_add(&table, getpid()), 0);
	is_int(pidns_add(&table, INT_MAX), 0);
	is_int(table.n, 2);
	is_int(pidns_find(&table, ns, 1), child.pid);
	is_int(pidns_find(&table, ns, 2), 0);
	is_int(pidns_find(&table, pidns_self(), 1), 0);
	is_int(pidns_add_all(&all), 0);
	is_int(pidns_find(&all, ns, 1), child.pid);
	is_int(pidns_find(&all, pidns_self(), getpid()), 0);
	nschild_end(&child);
	pidns_fini(&table);
	pidns_fini(&all);
	is_int(pidns_find(&all, ns, 1), 0);
}
