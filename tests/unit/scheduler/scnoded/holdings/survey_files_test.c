// SPDX-License-Identifier: BSD-3-Clause
/* survey: a process that opens and maps things, and what scnoded sees of them. */
#include "scheduler/scnoded/holdings/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/writables.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/holdings/surveyed.h"

static bool open_terminal(void)
{
	return open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0;
}

static bool take_terminal(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY), slave;

	if (fd < 0 || grantpt(fd) || unlockpt(fd))
		return false;
	slave = open(ptsname(fd), O_RDWR); /* becomes that of the session */
	return slave >= 0;
}

TAP_TEST(survey_job__terminals)
{
	refused(open_terminal, "holds the terminal /dev/");
	if (surveyed_start(take_terminal)) {
		surveyed_judge();
		ok(strstr(surveyed.text, "has a controlling terminal") != NULL);
	}
	surveyed_end();
}

static bool open_fine_things(void)
{
	int fd = memfd_create("pool", 0);

	if (ftruncate(fd, 4096) ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open("/dev/zero", O_RDWR), 0) == MAP_FAILED ||
	    inotify_init1(0) < 0)
		return false;
	return open("/dev/urandom", O_RDONLY) >= 0 && open("/proc/self/status", O_RDONLY) >= 0 &&
	       open("/", O_PATH) >= 0 && epoll_create1(0) >= 0 &&
	       syscall(SYS_pidfd_open, getpid(), 0) >= 0;
}

static bool deleted(uint64_t bytes, bool is_kept)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s", surveyed_path("a\nfile"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes))
		return false;
	if (is_kept && link(path, surveyed_path("kept")))
		return false;
	return !unlink(path);
}

static bool small_deleted(void)
{
	return deleted(4096, false) && mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) != MAP_FAILED;
}

static bool large_deleted(void)
{
	return deleted(2 << 20, false);
}

static bool large_mapped(void)
{
	return large_deleted() && mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) != MAP_FAILED &&
	       !close(3);
}

static bool linked_deleted(void)
{
	return deleted(4096, true);
}

static bool lock_file(void)
{
	return !flock(open(surveyed_path("locked"), O_RDWR | O_CREAT, 0600), LOCK_EX);
}

TAP_TEST(survey_job__fine_things)
{
	fine(open_fine_things);
	fine(small_deleted);
}

TAP_TEST(survey_job__deleted)
{
	char clause[256];

	snprintf(surveyed.directory, sizeof(surveyed.directory), "/tmp/survey_test.%d", getpid());
	snprintf(clause, sizeof(clause), "holds %s/a?file (deleted) (descriptor 3): 2097152 bytes",
		 surveyed.directory);
	refused(large_deleted, clause);
	snprintf(clause, sizeof(clause), "maps %s/a?file (deleted): 2097152 bytes",
		 surveyed.directory);
	refused(large_mapped, clause);
	snprintf(clause, sizeof(clause),
		 "holds %s/a?file (deleted) (descriptor 3), which has other names",
		 surveyed.directory);
	refused(linked_deleted, clause);
}

/* A file system of another user, that root may not use. Nobody serves it. */
static bool open_fuse(void)
{
	char options[96], path[128];
	int fuse = open("/dev/fuse", O_RDWR), fd, err;

	snprintf(path, sizeof(path), "%s", surveyed_path("fuse"));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=65534,group_id=65534",
		 fuse);
	if (fuse < 0 || mkdir(path, 0700) ||
	    mount("fuse", path, "fuse", MS_NOSUID | MS_NODEV, options))
		return false;
	fd = open(path, O_PATH);
	err = errno;
	if (umount2(path, MNT_DETACH) || close(fuse))
		return false;
	errno = err;
	return fd >= 0;
}

TAP_TEST(survey_job__cannot_be_looked_at)
{
	if (surveyed_start(open_fuse)) {
		surveyed_judge();
		okf(strstr(surveyed.text, "which scnoded can't look at: Permission denied") != NULL,
		    "%s", surveyed.text);
	}
	surveyed_end();
}

TAP_TEST(survey_job__lock)
{
	char clause[256];

	snprintf(surveyed.directory, sizeof(surveyed.directory), "/tmp/survey_test.%d", getpid());
	snprintf(clause, sizeof(clause), "holds a lock of %s/locked (descriptor 3)",
		 surveyed.directory);
	refused(lock_file, clause);
}

static bool open_uring(void)
{
	struct io_uring_params params = {0};
	long fd = syscall(SYS_io_uring_setup, 8, &params);

	return fd >= 0 && mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd,
			       IORING_OFF_SQ_RING) != MAP_FAILED;
}

static bool open_bpf(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) >= 0;
}

static bool open_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) >= 0;
}

static bool open_userfault(void)
{
	return syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY) >= 0;
}

TAP_TEST(survey_job__io_uring)
{
	if (surveyed_start(open_uring)) {
		surveyed_judge();
		ok(strstr(surveyed.text, "holds an io_uring (descriptor 3)") != NULL);
		ok(strstr(surveyed.text, "maps an io_uring at 0x") != NULL);
	}
	surveyed_end();
}

TAP_TEST(survey_job__bpf)
{
	refused(open_bpf, "holds a BPF map (descriptor 3)");
}

TAP_TEST(survey_job__perf)
{
	refused(open_perf, "holds a performance counter (perf_event) (descriptor 3)");
}

TAP_TEST(survey_job__userfaultfd)
{
	refused(open_userfault, "holds a userfaultfd (descriptor 3)");
}

/* An end of a pipe that a child has, too. */
static bool watch_pipe(bool is_closed, bool is_kept)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fds[2], epoll = epoll_create1(0);

	if (epoll < 0 || pipe(fds) || epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event))
		return false;
	if (!fork()) {
		close(REPORT_FD);
		for (;;)
			pause();
	}
	if (is_kept && dup(fds[0]) < 0)
		return false;
	return !is_closed || !close(fds[0]);
}

static bool watch_open(void)
{
	return watch_pipe(false, false);
}

static bool watch_copy(void)
{
	return watch_pipe(true, true);
}

static bool watch_closed(void)
{
	return watch_pipe(true, false);
}

/* The number is given to the other end, which has the same inode; a child has all three. */
static bool watch_reused(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fds[2], epoll = epoll_create1(0);

	if (epoll < 0 || pipe(fds) || epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event))
		return false;
	if (!fork()) {
		close(REPORT_FD);
		for (;;)
			pause();
	}
	return dup2(fds[1], fds[0]) >= 0;
}

/* Many files by turns under two numbers, and each under one of its own as well. */
static bool watch_by_turns(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fds[2], epoll = epoll_create1(0);

	for (int i = 0; i < 64; i++) {
		int number = 800 + i % 2;

		if (pipe(fds) || dup2(fds[0], number) != number || dup2(fds[1], number + 2) < 0 ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, number, &event) ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, number + 2, &event))
			return false;
	}
	return true;
}

TAP_TEST(survey_job__epoll_with_many_of_one_number)
{
	fine(watch_by_turns);
}

TAP_TEST(survey_job__epoll_with_a_number_again)
{
	refused(watch_reused, "has an epoll (descriptor 3) that still watches descriptor 4");
}

TAP_TEST(survey_job__epoll)
{
	fine(watch_open);
	fine(watch_copy);
	refused(watch_closed, "has an epoll (descriptor 3) that still watches descriptor 4");
}

static bool watch(void)
{
	return inotify_add_watch(inotify_init1(0), "/tmp", IN_CREATE) >= 0;
}

static bool watch_all(void)
{
	return fanotify_init(FAN_CLASS_NOTIF, O_RDONLY) >= 0;
}

static bool open_queue(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
	mqd_t queue = mq_open("/survey_test", O_RDWR | O_CREAT, 0600, &attr);

	mq_unlink("/survey_test");
	return queue >= 0;
}

static bool attach(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	bool is_attached = shmat(id, NULL, 0) != (void *)-1;

	shmctl(id, IPC_RMID, NULL);
	return is_attached;
}

static bool open_parent(void)
{
	return syscall(SYS_pidfd_open, getppid(), 0) >= 0;
}

TAP_TEST(survey_job__inotify)
{
	refused(watch, "holds an inotify with watches");
}

TAP_TEST(survey_job__fanotify)
{
	refused(watch_all, "holds a fanotify group (descriptor 3)");
}

TAP_TEST(survey_job__queue)
{
	/* Whether or not its file system is mounted. */
	if (surveyed_start(open_queue)) {
		surveyed_judge();
		ok(strstr(surveyed.text, "holds a queue of POSIX messages") ||
		   strstr(surveyed.text, "that is not mounted for the job"));
	}
	surveyed_end();
}

TAP_TEST(survey_job__sysv)
{
	refused(attach, "maps shared memory of System V, which belongs to the host, at 0x");
}

TAP_TEST(survey_job__pidfd)
{
	refused(open_parent, "holds a pidfd of a process outside the job (descriptor 3)");
}

/* Inherits the end of a pipe whose other end this program has. */
static bool inherit_pipe(void)
{
	return fcntl(KEPT_FD, F_GETFD) >= 0;
}

TAP_TEST(survey_job__pipe_outside)
{
	char clause[128];
	int fds[2];

	must(!pipe(fds));
	must(dup2(fds[1], KEPT_FD) == KEPT_FD);
	close(fds[1]);
	snprintf(clause, sizeof(clause),
		 "holds a pipe (descriptor %d) whose other end process %d (", KEPT_FD, getpid());
	refused(inherit_pipe, clause);
	close(KEPT_FD);
	close(fds[0]);
}

/* As many as it may have, and children that have them as well. */
static bool open_very_many(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < HOLDINGS_FILES_MAX / 64 || setrlimit(RLIMIT_NOFILE, &limit))
		return false;
	for (rlim_t n = 0; n <= HOLDINGS_FILES_MAX && dup(0) >= 0; n++)
		;
	for (rlim_t n = limit.rlim_max; n < HOLDINGS_FILES_MAX + limit.rlim_max;
	     n += limit.rlim_max)
		if (!fork()) {
			close(REPORT_FD);
			for (;;)
				pause();
		}
	return true;
}

TAP_TEST(survey_job__too_many_descriptors)
{
	if (surveyed_start(open_very_many)) {
		surveyed_judge();
		is_str(surveyed.text,
		       "job 7 on here can't be looked at before a checkpoint, as there are "
		       "more than 131072 descriptors; make it smaller\n");
	}
	surveyed_end();
}

static bool write_files(void)
{
	int fd = open(surveyed_path("log\n1"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	return fd >= 0 && write(fd, "hello", 5) == 5 &&
	       open(surveyed_path("log\n1"), O_RDONLY) >= 0;
}

TAP_TEST(writables_list__of_a_process)
{
	struct writable *list = NULL;

	if (surveyed_start(write_files)) {
		surveyed_judge();
		is_str(surveyed.text, "");
		if (is_int(writables_list(&surveyed.h, &list), 1)) {
			is_str(list[0].path, surveyed_path("log\n1"));
			is_int(list[0].size, 5);
			is_int(list[0].offset, 5);
			ok(list[0].is_append && !list[0].is_mapped);
			is_int(list[0].rank, RANK);
		}
		free(list);
	}
	surveyed_end();
}
