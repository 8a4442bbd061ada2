// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

TAP_TEST(segment_open__same_node_twice)
{
	struct node a, b;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	is_int(node_open(&b, 1, NULL), -EEXIST);
	ok(strstr(b.why, "node 1 is already here"));
	/* another job may */
	must(is_int(node_open_job(&b, 4712, 1, NULL), 0));
	node_close(&b);
	node_close(&a);
	links_end();
}

TAP_TEST(segment_open__same_node_after_close)
{
	struct node a, b, c;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	for (int i = 0; i < 20; i++) {
		node_close(&b);
		must(is_int(node_open(&b, 2, NULL), 0));
		must(is_int(node_open(&c, 3, NULL), 0));
		node_close(&c);
	}
	node_close(&b);
	node_close(&a);
	links_end();
}

TAP_TEST(segment_open__geometry_is_the_first_ones)
{
	struct node a, b;

	links_begin();
	must(is_int(node_open(&a, 1, "shmem.ring=32768,shmem.mtu=65536"), 0));
	must(is_int(node_open(&b, 2, "shmem.ring=1048576,shmem.mtu=1024"), 0));
	is_int(OPS->mtu(a.link, NULL), 16384);
	is_int(OPS->mtu(b.link, NULL), 16384);
	node_close(&a);
	node_close(&b);
	links_end();
}

TAP_TEST(segment_open__more_processes_than_slots)
{
	static struct node nodes[PMS_SLOTS + 1];

	links_begin();
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		must(is_int(node_open(&nodes[i], 1000003 * i, NULL), 0));
	is_int(node_open(&nodes[PMS_SLOTS], 9, NULL), -ENOSPC);
	ok(strstr(nodes[PMS_SLOTS].why, "more than 256 processes"));
	/* a slot that nobody refers to is given again */
	node_close(&nodes[17]);
	is_int(node_open(&nodes[17], 9, NULL), 0);
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		node_close(&nodes[i]);
	links_end();
}

TAP_TEST(segment_open__slot_in_use_is_not_given_again)
{
	static struct node nodes[PMS_SLOTS];
	struct pm_link_peer *peer;
	struct node late;
	struct pm_inbound in;

	links_begin();
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		must(is_int(node_open(&nodes[i], i, NULL), 0));
	/* a message of 17 is unread, and 5 may still write to 17 */
	must(is_int(node_add(&nodes[17], 3, &nodes[3], &peer), 0));
	is_int(node_send(&nodes[17], peer, 100, 1), 0);
	node_close(&nodes[17]);
	is_int(node_open(&late, 999, NULL), -ENOSPC);
	must(is_int(node_receive(&nodes[3], &in), 1));
	ok(is_filled(in.buf, 100, 1));
	OPS->release(nodes[3].link, in.cookie);
	for (uint64_t start = clock_monotonic_ns(); clock_monotonic_ns() - start < 200000000;)
		is_int(OPS->receive(nodes[3].link, &in), 0);
	must(is_int(node_open(&late, 999, NULL), 0));
	/* nothing of the former user is left */
	must(is_int(node_add(&late, 3, &nodes[3], &peer), 0));
	is_int(node_send(&late, peer, 50, 2), 0);
	must(is_int(node_receive(&nodes[3], &in), 1));
	is_int(in.src, 999);
	ok(is_filled(in.buf, 50, 2));
	OPS->release(nodes[3].link, in.cookie);
	node_close(&late);
	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		if (i != 17)
			node_close(&nodes[i]);
	links_end();
}

TAP_TEST(segment_find__addresses)
{
	struct node a, b, other, stranger;
	struct pm_link_peer *peer;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	must(is_int(node_open_job(&other, 7, 2, NULL), 0));
	is_int(node_add(&a, 2, &other, &peer), -EHOSTUNREACH);
	is_int(OPS->peer_add(a.link, 2, b.address, b.address_len - 1, &peer), -EINVAL);
	is_int(node_add(&a, 3, &b, &peer), -EINVAL);
	stranger = b;
	((struct pms_address *)(void *)stranger.address)->index = PMS_SLOTS;
	is_int(node_add(&a, 2, &stranger, &peer), -EINVAL);
	stranger = b;
	((struct pms_address *)(void *)stranger.address)->instance++;
	is_int(node_add(&a, 2, &stranger, &peer), -EPIPE);
	is_int(node_add(&a, 2, &b, &peer), 0);
	node_close(&other);
	node_close(&b);
	node_close(&a);
	links_end();
}

/* Opens node 2, makes a child that lives until @until ends, and is killed. */
static void die_with_child(int until)
{
	struct node b;
	int ready[2];
	char byte;

	if (node_open(&b, 2, NULL) || pipe(ready))
		_exit(1);
	if (!fork())
		_exit(write(ready[1], "", 1) != 1 || read(until, &byte, 1) != 0);
	/* until it has run a child holds what its parent held */
	if (read(ready[0], &byte, 1) != 1)
		_exit(2);
	raise(SIGKILL);
}

TAP_TEST(segment_open__child_of_killed_process_lingers)
{
	int status = 0, until[2];
	struct node a, b;
	pid_t pid;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(pipe(until), 0));
	pid = fork();
	if (!pid) {
		close(until[1]);
		die_with_child(until[0]);
	}
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	if (is_int(node_open(&b, 2, NULL), 0))
		node_close(&b);
	close(until[1]);
	close(until[0]);
	node_close(&a);
	links_end();
}

/* ---- no room ---- */

static int open_limited(void)
{
	struct rlimit limit = {.rlim_cur = 100000, .rlim_max = 100000};
	struct node n;

	/* SIGXFSZ would end us here, as it would end a program */
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 1;
	return node_open(&n, 1, NULL) == -EFBIG && strstr(n.why, links_dir) ? 0 : 2;
}

TAP_TEST(segment_open__file_size_limit)
{
	int status;
	pid_t pid;

	links_begin();
	pid = fork();
	if (!pid)
		_exit(open_limited());
	must(pid > 0);
	waitpid(pid, &status, 0);
	is_int(status, 0);
	links_end();
}

/* On a file system with @kib kilobytes: opens two nodes and talks; the error of what failed. */
static int talk_on_small(int kib)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;
	char size[32];
	int err;

	snprintf(size, sizeof(size), "size=%dk", kib);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", links_dir, "tmpfs", 0, size))
		return 77;
	err = node_open(&a, 1, NULL);
	if (!err)
		err = node_open(&b, 2, NULL);
	if (!err)
		err = node_add(&a, 2, &b, &peer);
	if (!err)
		err = node_send(&a, peer, 16000, 3);
	if (!err && node_receive(&b, &in) != 1)
		return 1;
	return -err;
}

TAP_TEST(segment_map__full_file_system)
{
	links_begin();
	for (int kib = 8; kib <= 1024; kib *= 2) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(talk_on_small(kib));
		must(pid > 0);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
			tap_skip("cannot mount a file system here");
			break;
		}
		/* an error or success, but no SIGBUS */
		okf(WIFEXITED(status), "%d KiB: status %#x", kib, status);
		is_int(WEXITSTATUS(status), kib < 512 ? ENOSPC : 0);
	}
	links_end();
}
