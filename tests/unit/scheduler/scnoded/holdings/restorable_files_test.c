// SPDX-License-Identifier: BSD-3-Clause
/* restorable: each kind of descriptor and of mapping, made up, and its sentence, if any. */
#include "scheduler/scnoded/holdings/restorable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/judged.h"

TAP_TEST(restorable_judge__anonymous_inodes)
{
	static const char *const refused_kinds[][2] = {
		{"anon_inode:[io_uring]", "an io_uring"},
		{"anon_inode:[perf_event]", "a performance counter (perf_event)"},
		{"anon_inode:[userfaultfd]", "a userfaultfd"},
		{"anon_inode:[fanotify]", "a fanotify group"},
		{"anon_inode:bpf-map", "a BPF map"},
		{"anon_inode:bpf-prog", "a BPF program"},
		{"anon_inode:bpf_link", "a BPF link"},
		{"anon_inode:btf", "BPF type data"},
		{"anon_inode:[infinibandevent]", "a queue of RDMA events"},
		{"anon_inode:kvm-vcpu:0", "an object of the kernel named kvm-vcpu:0"},
		{"anon_inode:[landlock-ruleset]", "an object of the kernel named landlock-ruleset"},
		{"anon_inode:[io_uring2]", "an object of the kernel named io_uring2"},
		{"anon_inode:", "an object of the kernel named "},
		{"net:[4026531840]", "the object of the kernel net:[4026531840]"},
		{"mnt:[1]", "the object of the kernel mnt:[1]"},
	};
	/* Their type is none before Linux 6.17, and that of a file since. */
	static const uint32_t modes[] = {0600, S_IFREG | 0600};

	judged_begin();
	for (size_t k = 0; k < 2; k++) {
		judged_file(modes[k], "anon_inode:[eventfd]");
		judged_file(modes[k], "anon_inode:[eventpoll]");
		judged_file(modes[k], "anon_inode:[signalfd]");
		judged_file(modes[k], "anon_inode:[timerfd]");
		judged_file(modes[k], "anon_inode:inotify");
		fine();
		for (size_t i = 0; i < sizeof(refused_kinds) / sizeof(refused_kinds[0]); i++) {
			char clause[256];

			judged_file(modes[k], refused_kinds[i][0]);
			snprintf(clause, sizeof(clause), "holds %s (descriptor 5)" CANNOT,
				 refused_kinds[i][1]);
			refused(clause);
		}
	}
}

TAP_TEST(restorable_judge__epoll)
{
	judged_begin();
	*holdings_add_watch(&judged.h) =
		(struct held_watch){.process = 1, .fd = 6, .target = 5, .is_held = true};
	fine();
	*holdings_add_watch(&judged.h) = (struct held_watch){.process = 1, .fd = 6, .target = 5};
	refused("has an epoll (descriptor 6) that still watches descriptor 5, which is closed here "
		"but "
		"open elsewhere, so it cannot be restored; remove it from the epoll before it is "
		"closed");
}

TAP_TEST(restorable_judge__inotify)
{
	judged_begin();
	judged_file(0, "anon_inode:inotify")->watches = 1;
	refused("holds an inotify with watches, which are for the files of this host (descriptor "
		"5), "
		"which cannot be restored; remove the watches before a checkpoint");
}

TAP_TEST(restorable_judge__pidfd)
{
	struct held_file *f;

	judged_begin();
	judged_file(0, "anon_inode:[pidfd]")->target = ROOT;
	judged_file(0, "anon_inode:[pidfd]")->target = -1;
	judged_file(0600, "pidfd:[12]")->target = ROOT;
	fine();
	judged_file(0600, "pidfd:[12]")->target = 812;
	refused("holds a pidfd of a process outside the job (descriptor 5)" CANNOT);
	judged_file(S_IFREG, "/dmabuf:[pidfd]")->target = ROOT;
	judged.h.files[0].is_mounted = false;
	refused("holds /dmabuf:[pidfd] (descriptor 5) on a file system that is not mounted for the "
		"job, so it cannot be restored; open it by a path that the job has");
	judged_file(0, "anon_inode:[pidfd]")->target = 812;
	refused("holds a pidfd of a process outside the job (descriptor 5)" CANNOT);
	judged_file(0, "anon_inode:[pidfd]")->target = INT32_MAX;
	refused("holds a pidfd of a process outside the job (descriptor 5)" CANNOT);
	f = judged_file(0, "anon_inode:[pidfd]");
	f->target = ROOT;
	f->flags = O_EXCL;
	refused("holds a pidfd of a single thread (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__devices)
{
	judged_begin();
	judged_device(S_IFCHR, 1, 3, "/dev/null");
	judged_device(S_IFCHR, 1, 5, "/dev/zero");
	judged_device(S_IFCHR, 1, 7, "/dev/full");
	judged_device(S_IFCHR, 1, 8, "/dev/random");
	judged_device(S_IFCHR, 1, 9, "/dev/urandom");
	fine();
	judged_device(S_IFCHR, 1, 1, "/dev/mem");
	refused("holds the device /dev/mem (descriptor 5)" CANNOT);
	judged_device(S_IFCHR, 1, 11, "/dev/kmsg");
	refused("holds the device /dev/kmsg (descriptor 5)" CANNOT);
	judged_device(S_IFBLK, 1, 3, "/dev/ram3");
	refused("holds the device /dev/ram3 (descriptor 5)" CANNOT);
	judged_device(S_IFCHR, 231, 192, "/dev/infiniband/uverbs0");
	refused("holds the RDMA device /dev/infiniband/uverbs0 (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__terminals)
{
	static const struct {
		unsigned major, minor;
		const char *name;
	} all[] = {{4, 1, "/dev/tty1"},    {4, 64, "/dev/ttyS0"}, {5, 0, "/dev/tty"},
		   {5, 1, "/dev/console"}, {5, 2, "/dev/ptmx"},   {128, 0, "/dev/ptmx"},
		   {136, 0, "/dev/pts/0"}, {143, 9, "/dev/pts/9"}};

	judged_begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char clause[256];

		judged_device(S_IFCHR, all[i].major, all[i].minor, all[i].name);
		snprintf(
			clause, sizeof(clause),
			"holds the terminal %s (descriptor 5), which cannot be restored; start the "
			"job without a terminal, and close others",
			all[i].name);
		refused(clause);
	}
}

TAP_TEST(restorable_judge__pipes)
{
	judged_begin();
	judged_file(S_IFIFO, "pipe:[4711]");
	judged_file(S_IFIFO, "/tmp/fifo");
	fine();
	*holdings_add_outsider(&judged.h) = (struct held_outsider){
		.inode = judged_file(S_IFIFO, "pipe:[4711]")->inode, .pid = 812, .name = "tee"};
	refused("holds a pipe (descriptor 5) whose other end process 812 (tee) outside the job "
		"has, so "
		"it cannot be restored; close it before a checkpoint");
}

TAP_TEST(restorable_judge__files)
{
	struct held_file *f;

	judged_begin();
	judged_file(S_IFREG, "/home/user/data");
	judged_file(S_IFDIR, "/home/user");
	judged_file(S_IFREG, "/memfd:pool (deleted)")->is_mounted = false;
	f = judged_file(S_IFREG, "/dev/shm/open_mpi.0000 (deleted)");
	f->links = 0;
	f->allocated = RESTORABLE_GHOST_BYTES;
	fine();
	f = judged_file(S_IFREG, "/tmp/big (deleted)");
	f->links = 0;
	f->allocated = RESTORABLE_GHOST_BYTES + 512;
	refused("holds /tmp/big (deleted) (descriptor 5): 1049088 bytes, more than the 1048576 "
		"that a "
		"file without a name may have; don't delete it while it is open");
	judged_file(S_IFREG, "/tmp/other (deleted)");
	refused("holds /tmp/other (deleted) (descriptor 5), which has other names but not this one "
		"any "
		"more, so it cannot be restored; close it before a checkpoint");
	judged_file(S_IFREG, "/tmp/log")->is_mounted = false;
	refused("holds /tmp/log (descriptor 5) on a file system that is not mounted for the job, "
		"so it "
		"cannot be restored; open it by a path that the job has");
	judged_file(S_IFREG, "/secretmem (deleted)");
	refused("holds secret memory (memfd_secret) (descriptor 5)" CANNOT);
	judged_file(S_IFREG, "/queue")->is_queue = true;
	refused("holds a queue of POSIX messages (descriptor 5)" CANNOT);
	judged_file(S_IFREG, "");
	refused("holds a file whose path is longer than the kernel tells (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__devices_and_fifos_are_somewhere)
{
	judged_begin();
	judged_device(S_IFCHR, 1, 3, "/dev/null")->is_mounted = false;
	refused("holds /dev/null (descriptor 5) on a file system that is not mounted for the job, "
		"so it cannot be restored; open it by a path that the job has");
	judged_file(S_IFIFO, "/tmp/fifo")->is_mounted = false;
	refused("holds /tmp/fifo (descriptor 5) on a file system that is not mounted for the job, "
		"so it cannot be restored; open it by a path that the job has");
	judged_file(S_IFIFO, "/tmp/fifo (deleted)");
	refused("holds /tmp/fifo (deleted) (descriptor 5), which has other names but not this one "
		"any more, so it cannot be restored; close it before a checkpoint");
	judged_file(S_IFIFO, "/tmp/fifo (deleted)")->links = 0;
	judged_file(S_IFIFO, "pipe:[4711]")->is_mounted = false;
	judged_device(S_IFCHR, 1, 1, "/dev/mem")->is_mounted = false;
	refused("holds the device /dev/mem (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__deleted_on_nfs)
{
	judged_begin();
	judged_file(S_IFREG, "/home/.nfs0123456/a");
	judged_file(S_IFREG, "/home/.nfs0123456");
	judged_file(S_IFREG, "/home/.nfs01234567x");
	judged_mapping("/home/a.nfs01234567");
	fine();
	judged_file(S_IFREG, "/home/.nfs0123456F");
	refused("holds /home/.nfs0123456F (descriptor 5), which was deleted and NFS keeps while it "
		"is open, so it cannot be restored; close it before a checkpoint");
	judged_mapping("/home/.nfs000000000123456f00000001");
	refused("maps /home/.nfs000000000123456f00000001, which was deleted and NFS keeps while it "
		"is mapped, so it cannot be restored; unmap it before a checkpoint");
}

TAP_TEST(restorable_judge__cannot_be_looked_at)
{
	judged_begin();
	judged_file(0, "/mnt/fuse/a")->err = EACCES;
	refused("holds /mnt/fuse/a (descriptor 5), which scnoded can't look at: Permission denied; "
		"close it before a checkpoint");
	judged_file(0, "")->err = EIO;
	refused("holds a file (descriptor 5), which scnoded can't look at: Input/output error; "
		"close it before a checkpoint");
	judged_mapping("/mnt/fuse/a")->err = EACCES;
	refused("maps /mnt/fuse/a at 0x7000, which scnoded can't look at: Permission denied; unmap "
		"it before a checkpoint");
}

TAP_TEST(restorable_judge__locks)
{
	judged_begin();
	judged_file(S_IFREG, "/home/user/data")->is_locked = true;
	judged.terms.keeps_locks = true;
	fine();
	judged_file(S_IFREG, "/home/user/data")->is_locked = true;
	refused("holds a lock of /home/user/data (descriptor 5), which would be lost; unlock the "
		"file "
		"before a checkpoint");
}

TAP_TEST(restorable_judge__long_paths)
{
	char path[4000];

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	judged_begin();
	judged_file(S_IFREG, path)->is_mounted = false;
	judged_device(S_IFCHR, 9, 9, path);
	judged_mapping(path)->mode = S_IFBLK;
	*path = 'x';
	judged_file(S_IFREG, path);
	judged_mapping(path);
	judged_judge();
	is_int(judged.refusals.n, 5);
	for (size_t i = 0; i < judged.refusals.n; i++) {
		ok(strlen(judged.refusals.lines[i]) < 500);
		ok(strstr(judged.refusals.lines[i], "before a checkpoint") ||
		   strstr(judged.refusals.lines[i], "that the job has"));
	}
}

TAP_TEST(restorable_judge__mappings)
{
	struct held_mapping *m;

	judged_begin();
	judged_mapping("/usr/lib/libc.so.6");
	judged_mapping("/memfd:pool (deleted)")->links = 0;
	judged_mapping("/dev/zero (deleted)")->allocated = 1 << 30;
	judged_mapping("/anon_hugepage (deleted)")->allocated = 1 << 30;
	judged_mapping("/[aio] (deleted)")->mode = 0;
	m = judged_mapping("/dev/zero");
	m->mode = S_IFCHR;
	m->special = makedev(1, 5);
	m = judged_mapping("/tmp/a (deleted)");
	m->links = 0;
	m->allocated = RESTORABLE_GHOST_BYTES;
	fine();
	m = judged_mapping("/tmp/a (deleted)");
	m->links = 0;
	m->allocated = 1 << 21;
	refused("maps /tmp/a (deleted): 2097152 bytes, more than the 1048576 that a file without a "
		"name may have; don't delete it while it is mapped");
	judged_mapping("/tmp/a (deleted)");
	refused("maps /tmp/a (deleted), which has other names but not this one any more, so it "
		"cannot "
		"be restored; unmap it before a checkpoint");
}

#define UNMAP " at 0x7000, which cannot be restored; unmap it before a checkpoint"

TAP_TEST(restorable_judge__mappings_of_other_things)
{
	static const char *const all[][2] = {
		{"[uprobes]", "maps a probe of perf or of a BPF program" UNMAP},
		{"socket:[4711]", "maps the rings of a socket" UNMAP},
		{"anon_inode:[io_uring]", "maps an io_uring" UNMAP},
		{"anon_inode:bpf-map", "maps a BPF map" UNMAP},
		{"/secretmem (deleted)", "maps secret memory (memfd_secret)" UNMAP},
		{"/sys/devices/pci0/resource0",
		 "maps memory of a device by /sys/devices/pci0/resource0" UNMAP},
		{"/proc/bus/pci/00/1f.0", "maps memory of a device by /proc/bus/pci/00/1f.0" UNMAP},
		{"/SYSV00000000 (deleted)",
		 "maps shared memory of System V, which belongs to the host," UNMAP},
		{"i915", "maps the object of the kernel i915" UNMAP},
	};
	struct held_mapping *m;

	judged_begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		judged_mapping(all[i][0]);
		refused(all[i][1]);
	}
	m = judged_mapping("/dev/infiniband/uverbs0");
	m->mode = S_IFCHR;
	m->special = makedev(231, 192);
	refused("maps the device /dev/infiniband/uverbs0" UNMAP);
	judged_mapping("/SYSV00000000 (deleted)");
	judged.h.has_own_ipc = true;
	fine();
}
