// SPDX-License-Identifier: BSD-3-Clause
/* procline: lines as kernels have written them, and such as no kernel writes. */
#include "scheduler/scnoded/holdings/procline.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "tests/harness/tap.h"

TAP_TEST(procline_stat__recorded)
{
	struct procline_stat s;

	must(procline_stat("4711 (mpi_hello) S 4700 4711 4700 34816 4711 4194304 100 0", &s));
	is_str(s.name, "mpi_hello");
	is_int(s.state, 'S');
	is_int(s.parent, 4700);
	is_int(s.session, 4700);
	is_int(s.terminal, 34816);
	must(procline_stat("1 (init) Z 0 0 0 0 -1 0", &s));
	is_int(s.state, 'Z');
	is_int(s.parent, 0);
	is_int(s.terminal, 0);
}

TAP_TEST(procline_stat__names_that_contain_anything)
{
	struct procline_stat s;

	must(procline_stat("7 (a) S 1 1 1) R 2 3 4 0 -1", &s));
	is_str(s.name, "a) S 1 1 1");
	is_int(s.parent, 2);
	must(procline_stat("7 () R 2 3 4 0 -1", &s));
	is_str(s.name, "");
	must(procline_stat(
		"7 (0123456789012345678901234567890123456789012345678901234567890123456789) "
		"R 2 3 4 0 -1",
		&s));
	is_int(strlen(s.name), PROCLINE_NAME_MAX - 1);
}

TAP_TEST(procline_stat__damaged)
{
	static const char *const lines[] = {"",
					    "7",
					    "7 (a",
					    "7 a) R 2 3 4",
					    "7 )(",
					    "7 (a)",
					    "7 (a) ",
					    "7 (a) R",
					    "7 (a) R 2 3",
					    "7 (a) R -2 3 4",
					    "7 (a) R 99999999999 3 4",
					    "7 (a) R 2 3 99999999999999999999999"};
	struct procline_stat s = {.parent = 42};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		okf(!procline_stat(lines[i], &s), "%s", lines[i]);
	is_int(s.parent, 42);
}

TAP_TEST(procline_status__recorded)
{
	struct procline_status s;

	must(procline_status("Name:\tTracerPid:\t9\\nState:\tZ\nUmask:\t0022\nState:\tt (tracing "
			     "stop)\nTgid:\t5\nTracerPid:\t4712\nUid:\t0\n",
			     &s));
	is_int(s.state, 't');
	is_int(s.tracer, 4712);
	must(procline_status("State:\tS (sleeping)\nTracerPid:\t0\n", &s));
	is_int(s.tracer, 0);
	ok(!procline_status("State:\tS (sleeping)\n", &s));
	ok(!procline_status("TracerPid:\t1\n", &s));
	ok(!procline_status("State:\t", &s));
	ok(!procline_status("State:\tS\nTracerPid:\t\n", &s));
	ok(!procline_status("", &s));
}

TAP_TEST(procline_fdinfo__file)
{
	struct procline_fdinfo sum = {0};

	procline_fdinfo("pos:\t18446744073709551615\n", &sum);
	procline_fdinfo("flags:\t02002001\n", &sum);
	procline_fdinfo("mnt_id:\t29\n", &sum);
	procline_fdinfo("ino:\t9\n", &sum);
	ok(!sum.is_locked);
	procline_fdinfo("lock:\t1: POSIX  ADVISORY  WRITE 3085 fd:01:2754 0 EOF\n", &sum);
	ok(sum.offset == UINT64_MAX);
	is_int(sum.flags, O_WRONLY | O_APPEND | O_CLOEXEC);
	is_int(sum.mount, 29);
	ok(sum.is_locked);
	is_int(sum.target, 0);
	is_int(sum.watches, 0);
}

TAP_TEST(procline_fdinfo__pidfd)
{
	struct procline_fdinfo sum = {0};

	procline_fdinfo("Pid:\t4711\n", &sum);
	is_int(sum.target, 4711);
	procline_fdinfo("NSpid:\t1\n", &sum);
	is_int(sum.target, 4711);
	procline_fdinfo("Pid:\t-1\n", &sum);
	is_int(sum.target, -1);
	procline_fdinfo("Pid:\t0\n", &sum);
	is_int(sum.target, PROCLINE_ELSEWHERE);
}

TAP_TEST(procline_fdinfo__odd)
{
	struct procline_fdinfo sum = {0};

	procline_fdinfo("inotify wd:1 ino:2 sdev:3 mask:fce ignored_mask:0\n", &sum);
	procline_fdinfo("inotify wd:2 ino:2 sdev:3 mask:fce ignored_mask:0\n", &sum);
	is_int(sum.watches, 2);
	procline_fdinfo("pos:\t99999999999999999999\n", &sum);
	procline_fdinfo("flags:\t9\n", &sum);
	procline_fdinfo("mnt_id:\t-1\n", &sum);
	procline_fdinfo("mnt_id:\t99999999999\n", &sum);
	procline_fdinfo("", &sum);
	procline_fdinfo("\n", &sum);
	procline_fdinfo("tfd:        5 events: 1 data: 5\n", &sum);
	is_int(sum.offset, 0);
	is_int(sum.flags, 0);
	is_int(sum.mount, 0);
}

TAP_TEST(procline_watch__recorded)
{
	struct procline_watch w;

	must(procline_watch("tfd:        5 events:       19 data:                5  pos:0 ino:61af "
			    "sdev:800001\n",
			    &w));
	is_int(w.target, 5);
	is_int(w.inode, 0x61af);
	ok(w.device == makedev(8, 1));
	ok(!procline_watch("tfd:        5 events:       19 data:                5\n", &w));
	ok(!procline_watch("tfd: 99999999999 ino:1 sdev:1", &w));
	ok(!procline_watch("tfd: 5 ino:x sdev:1", &w));
	ok(!procline_watch("tfd: 5 ino:1 sdev:fffffffff", &w));
	ok(!procline_watch("pos:	5 ino:1 sdev:1", &w));
	ok(!procline_watch("", &w));
}

static bool mapping(const char *line, char *copy, size_t size, struct procline_mapping *ret)
{
	snprintf(copy, size, "%s", line);
	return procline_mapping(copy, ret);
}

TAP_TEST(procline_mapping__recorded)
{
	struct procline_mapping m;
	char line[512];

	must(mapping("7f1c2000-7f1c3000 rw-s 00001000 fd:01 123456      /dev/shm/a b (deleted)\n",
		     line, sizeof(line), &m));
	ok(m.start == 0x7f1c2000 && m.end == 0x7f1c3000);
	ok(m.device == makedev(0xfd, 1));
	is_int(m.inode, 123456);
	ok(m.is_shared && m.is_writable);
	is_str(m.name, "/dev/shm/a b (deleted)");
	must(mapping("55d0c8a00000-55d0c8a21000 r-xp 00000000 00:00 0 \n", line, sizeof(line), &m));
	is_str(m.name, "");
	ok(!m.is_shared && !m.is_writable);
	must(mapping("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		     "[vsyscall]\n",
		     line, sizeof(line), &m));
	is_str(m.name, "[vsyscall]");
	must(mapping("1000-2000 rw-s 00000000 00:08 4711 socket:[4711]", line, sizeof(line), &m));
	is_str(m.name, "socket:[4711]");
	must(mapping("1000-2000 rw-s 00000000 00:0e 9 anon_inode:[perf_event]", line, sizeof(line),
		     &m));
	is_str(m.name, "anon_inode:[perf_event]");
}

TAP_TEST(procline_mapping__end_of_line_in_a_path)
{
	struct procline_mapping m;
	char line[512];

	must(mapping("1000-2000 r--p 00000000 fd:01 9 /a\\012\\012b\\01 \\013\n", line,
		     sizeof(line), &m));
	is_str(m.name, "/a\n\nb\\01 \\013");
	must(mapping("1000-2000 r--p 00000000 fd:01 9 \\012", line, sizeof(line), &m));
	is_str(m.name, "\n");
}

TAP_TEST(procline_mapping__long_path)
{
	static char line[5000], name[4096];
	struct procline_mapping m;

	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	snprintf(line, sizeof(line), "1000-2000 r--p 00000000 fd:01 9 %s\n", name);
	must(procline_mapping(line, &m));
	is_str(m.name, name);
}

TAP_TEST(procline_mapping__damaged)
{
	static const char *const lines[] = {
		"",
		"\n",
		"1000",
		"1000-",
		"2000-1000 r--p 0 fd:01 9 /a",
		"1000-1000 r--p 0 fd:01 9 /a",
		"1000-2000",
		"1000-2000 r-",
		"1000-2000 r--pp0 fd:01 9 /a",
		"1000-2000 r--p",
		"1000-2000 r--p 0",
		"1000-2000 r--p 0 fd",
		"1000-2000 r--p 0 fd:",
		"1000-2000 r--p 0 fd:01",
		"1000-2000 r--p 0 fd:01 x",
		"1000-2000 r--p 0 fffffffff:01 9 /a",
		"1000-2000 r--p 0 fd:01 99999999999999999999 /a",
		"11111111111111111-2000 r--p 0 fd:01 9 /a",
		"-1-2000 r--p 0 fd:01 9 /a",
	};
	struct procline_mapping m;
	char line[512];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		okf(!mapping(lines[i], line, sizeof(line), &m), "%s", lines[i]);
}

TAP_TEST(procline_mount__recorded)
{
	struct procline_mount m;

	must(procline_mount(
		"36 35 98:0 /a\\040-\\040b /place rw shared:1 master:2 - ext3 /dev/root rw\n", &m));
	is_int(m.id, 36);
	ok(!m.is_queue);
	must(procline_mount("37 35 0:21 / /dev/mqueue rw - mqueue mqueue rw\n", &m));
	ok(m.is_queue);
	must(procline_mount("38 35 0:21 / /a rw - mqueues x rw\n", &m));
	ok(!m.is_queue);
	ok(!procline_mount("38 35 0:21 / /a rw\n", &m));
	ok(!procline_mount("x 35 0:21 / /a rw - ext3 a rw\n", &m));
	ok(!procline_mount("99999999999 35 0:21 / /a rw - ext3 a rw\n", &m));
	ok(!procline_mount("", &m));
}

TAP_TEST(procline_netlink__recorded)
{
	struct procline_netlink n;

	ok(!procline_netlink(
		"sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    "
		"Drops    Inode\n",
		&n));
	must(procline_netlink(
		"000000004b300d21 4   -4095      00000000 768      0        0     2        "
		"0        560     \n",
		&n));
	is_int(n.protocol, 4);
	is_int(n.unread, 768);
	is_int(n.inode, 560);
	must(procline_netlink("00000000193cd492 0   3085       80000551 0 0 0 2 0 4294967295\n",
			      &n));
	is_int(n.inode, 4294967295);
	ok(!procline_netlink("00000000193cd492 300 0 0 0 0 0 2 0 1\n", &n));
	ok(!procline_netlink("00000000193cd492 0 0 0 0 0 0 2 0\n", &n));
	ok(!procline_netlink("", &n));
}

TAP_TEST(procline_inode__names)
{
	is_int(procline_inode("pipe:[4711]", "pipe"), 4711);
	is_int(procline_inode("socket:[1]", "socket"), 1);
	is_int(procline_inode("socket:[1]", "pipe"), 0);
	is_int(procline_inode("pipe:[1] (deleted)", "pipe"), 0);
	is_int(procline_inode("pipe:[]", "pipe"), 0);
	is_int(procline_inode("pipe:[-1]", "pipe"), 0);
	is_int(procline_inode("pipe", "pipe"), 0);
	is_int(procline_inode("", "pipe"), 0);
	is_int(procline_inode("pipe:[99999999999999999999]", "pipe"), 0);
}
