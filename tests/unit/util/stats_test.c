// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of the counter files: life and death of writers, and files of strangers that must do no
 * harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmcore/util/stats.h"
#include "tests/harness/tap.h"

/* The pages that a visit finds of one process. */
struct find {
	uint32_t pid;           /* looked for */
	int n;                  /* pages of it */
	struct stats_page page; /* the last one */
};

static int on_page(void *arg, const struct stats_page *page)
{
	struct find *find = arg;

	if (page->pid == find->pid) {
		find->n++;
		find->page = *page;
	}
	return 0;
}

static struct find find_pid(uint32_t pid)
{
	struct find find = {.pid = pid};

	ok(stats_visit(0, on_page, &find) >= 0);
	return find;
}

static void name_of(char path[96], uid_t uid, pid_t pid, int n)
{
	snprintf(path, 96, "/dev/shm/openscore-stat.%u.%u.%d", (unsigned int)uid, (unsigned int)pid,
		 n);
}

/* A pid that is not in use: of a child that has been waited for. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

TAP_TEST(stats_create__readers_see_live_counters)
{
	struct stats *stats = NULL;
	struct find find;
	struct stat st;
	char path[96];

	is_int(stats_create(42, &stats), 0);
	must(stats);
	name_of(path, geteuid(), getpid(), 0);
	is_int(stat(path, &st), 0);
	is_int(st.st_mode & 07777, 0600);
	stats_page(stats)->rails[1].tx_packets = 17;
	find = find_pid((uint32_t)getpid());
	is_int(find.n, 1);
	is_int(find.page.node, 42);
	is_int(find.page.uid, geteuid());
	is_int(find.page.rails[1].tx_packets, 17);
	ok(find.page.program[0]);
	stats_page(stats)->rails[1].tx_packets = 18;
	is_int(find_pid((uint32_t)getpid()).page.rails[1].tx_packets, 18);
	stats_destroy(stats);
	is_int(access(path, F_OK), -1);
	is_int(find_pid((uint32_t)getpid()).n, 0);
}

TAP_TEST(stats_create__several_contexts_of_a_process)
{
	struct stats *stats[3];
	int i;

	for (i = 0; i < 3; i++)
		is_int(stats_create((uint32_t)i, &stats[i]), 0);
	is_int(find_pid((uint32_t)getpid()).n, 3);
	stats_destroy(stats[1]);
	is_int(find_pid((uint32_t)getpid()).n, 2);
	is_int(stats_create(9, &stats[1]), 0);
	is_int(find_pid((uint32_t)getpid()).n, 3);
	for (i = 0; i < 3; i++)
		stats_destroy(stats[i]);
	stats_destroy(NULL);
}

/* The child says when it has its file, then is killed. */
static pid_t start_writer(void)
{
	struct stats *stats;
	int ready[2];
	char byte;
	pid_t pid;

	if (!ok(pipe(ready) == 0))
		return -1;
	pid = fork();
	if (pid == 0) {
		byte = stats_create(7, &stats) == 0 ? '+' : '-';
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	is_int(read(ready[0], &byte, 1), 1);
	is_int(byte, '+');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

TAP_TEST(stats_visit__killed_writer_is_gone_at_once_and_swept)
{
	struct stats *stats;
	char path[96];
	pid_t pid = start_writer();

	must(pid > 0);
	name_of(path, geteuid(), pid, 0);
	is_int(find_pid((uint32_t)pid).n, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(find_pid((uint32_t)pid).n, 0);
	is_int(access(path, F_OK), 0);
	is_int(stats_create(1, &stats), 0);
	is_int(access(path, F_OK), -1);
	stats_destroy(stats);
}

TAP_TEST(stats_create__leaves_live_writers_alone)
{
	struct stats *stats;
	pid_t pid = start_writer();

	must(pid > 0);
	is_int(stats_create(1, &stats), 0);
	is_int(find_pid((uint32_t)pid).n, 1);
	stats_destroy(stats);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
}

/* A file as a stranger would put it there, locked as if its writer lived; the descriptor. */
static int put_file(const char *path, const void *data, size_t len, off_t size)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	ok(fd >= 0);
	is_int(write(fd, data, len), len);
	is_int(ftruncate(fd, size), 0);
	is_int(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

/* A file that takes the place of one which is about to be locked. */
static struct {
	const struct stats_page *page; /* NULL: there is none, or it has happened */
	char path[96];
	ino_t old; /* in whose place */
	int fd;
} renewed;

/* That of pmcore/util/stats.c comes here. */
int fcntl(int fd, int command, ...)
{
	struct stat st;
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (command == F_OFD_SETLK && renewed.page && !fstat(fd, &st) && st.st_ino == renewed.old) {
		const struct stats_page *page = renewed.page;

		renewed.page = NULL;
		unlink(renewed.path);
		renewed.fd = put_file(renewed.path, page, sizeof(*page), sizeof(*page));
	}
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

TAP_TEST(stats_visit__contents_that_lie)
{
	struct stats_page page = {.magic = STATS_MAGIC, .size = sizeof(page), .pid = 1, .uid = 1};
	pid_t pid = dead_pid();
	struct find find;
	char path[96];
	int fd;

	name_of(path, geteuid(), pid, 0);
	memset(page.program, 'x', sizeof(page.program));
	memcpy(page.program, "\033[2J\n", 5);
	memset(page.rails[0].name, '\377', sizeof(page.rails[0].name));
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	find = find_pid((uint32_t)pid);
	is_int(find.n, 1);
	is_int(find.page.uid, geteuid());
	is_int(strlen(find.page.program), sizeof(page.program) - 1);
	is_int(memcmp(find.page.program, "?[2J?x", 6), 0);
	is_str(find.page.rails[0].name, "???????????????");
	close(fd);

	fd = put_file(path, &page, sizeof(page), 1ll << 40);
	is_int(find_pid((uint32_t)pid).n, 1);
	close(fd);
	fd = put_file(path, &page, sizeof(page), sizeof(page) - 1);
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	fd = put_file(path, &page, sizeof(page), 0);
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	page.n_rails = STATS_RAILS + 1;
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	page.n_rails = 0;
	page.n_links = 0xffffffff;
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	page.n_links = 0;
	page.magic++;
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	page.magic--;
	page.size++;
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	unlink(path);
}

TAP_TEST(stats_create__symlinks_fifos_directories_and_links)
{
	char victim[] = "/tmp/stats_test.XXXXXX";
	pid_t pid = dead_pid();
	struct stats *stats = NULL;
	struct stat st;
	char path[96], own[96];
	int fd = mkstemp(victim);

	must(fd >= 0);
	is_int(write(fd, "precious", 8), 8);
	close(fd);
	name_of(path, geteuid(), pid, 0);
	is_int(symlink(victim, path), 0);
	name_of(own, geteuid(), getpid(), 0);
	is_int(symlink(victim, own), 0); /* waits where our own file would go */
	is_int(stats_create(1, &stats), 0);
	is_int(find_pid((uint32_t)getpid()).n, 1);
	stats_destroy(stats);
	is_int(find_pid((uint32_t)pid).n, 0);
	is_int(stat(victim, &st), 0);
	is_int(st.st_size, 8);
	unlink(own);
	unlink(path);
	is_int(mkfifo(path, 0600), 0);
	is_int(find_pid((uint32_t)pid).n, 0);
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
	unlink(path);
	is_int(mkdir(path, 0700), 0);
	is_int(find_pid((uint32_t)pid).n, 0);
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
	rmdir(path);
	unlink(victim);
}

TAP_TEST(stats_create__names_that_only_look_like_ours)
{
	static const char *const tails[] = {"0",      "0.1",    "0.1.2.3", "00.1.2",
					    "0.1.2x", "-1.1.2", "0. 1.2",  "99999999999.1.2"};
	struct stats *stats;
	char path[96];
	size_t i;

	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		snprintf(path, sizeof(path), "/dev/shm/openscore-stat.%s", tails[i]);
		close(open(path, O_CREAT | O_RDWR, 0600));
	}
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		snprintf(path, sizeof(path), "/dev/shm/openscore-stat.%s", tails[i]);
		okf(unlink(path) == 0, "%s was removed", path);
	}
}

TAP_TEST(stats_read__by_name)
{
	struct stats_page page;
	struct stats *stats[2];
	pid_t pid = getpid();

	is_int(stats_create(4, &stats[0]), 0);
	is_int(stats_create(5, &stats[1]), 0);
	is_int(stats_read(geteuid(), 0, (uint32_t)pid, 1, &page), 0);
	is_int(page.node, 5);
	is_int(page.pid, pid);
	is_int(stats_read(geteuid(), 0, (uint32_t)pid, 2, &page), -ENOENT);
	is_int(stats_read(geteuid() + 1, 0, (uint32_t)pid, 1, &page), -ENOENT);
	is_int(stats_read(geteuid(), 0, (uint32_t)dead_pid(), 0, &page), -ENOENT);
	stats_destroy(stats[0]);
	is_int(stats_read(geteuid(), 0, (uint32_t)pid, 0, &page), -ENOENT);
	is_int(stats_read(geteuid(), 0, (uint32_t)pid, 1, &page), 0);
	stats_destroy(stats[1]);
}

TAP_TEST(stats_visit__of_one_process)
{
	struct find find = {.pid = (uint32_t)getpid()};
	struct stats *stats;
	pid_t pid = start_writer();

	must(pid > 0);
	is_int(stats_create(4, &stats), 0);
	is_int(stats_visit((uint32_t)getpid(), on_page, &find), 1);
	is_int(find.n, 1);
	stats_destroy(stats);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(stats_visit((uint32_t)getpid(), on_page, &find), 0);
	is_int(stats_create(4, &stats), 0); /* sweeps the file of the one that was killed */
	stats_destroy(stats);
}

/* Which of the directory's files are opened from now on; the descriptor. */
static int watch_opens(void)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	ok(inotify_add_watch(fd, "/dev/shm", IN_OPEN) >= 0);
	return fd;
}

/* How often the file of that name was. */
static int count_opens(int fd, const char *name)
{
	char room[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t size;
	int n = 0;

	while ((size = read(fd, room, sizeof(room))) > 0)
		for (char *at = room; at < room + size;) {
			const struct inotify_event *event = (const void *)at;

			n += event->len && !strcmp(event->name, name);
			at += sizeof(*event) + event->len;
		}
	return n;
}

TAP_TEST(stats_read__file_of_a_stranger_is_not_opened)
{
	struct stats_page page = {.magic = STATS_MAGIC, .size = sizeof(page)};
	pid_t pid = dead_pid();
	char path[96];
	int fd, opens;

	if (geteuid() != 0) {
		tap_skip("needs root to give a file away");
		return;
	}
	name_of(path, 65534, pid, 0);
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	opens = watch_opens();
	is_int(stats_read(65534, 0, (uint32_t)pid, 0, &page), -EPERM);
	is_int(count_opens(opens, path + strlen("/dev/shm/")), 0);
	is_int(fchown(fd, 65534, 65534), 0);
	is_int(stats_read(65534, 0, (uint32_t)pid, 0, &page), 0);
	is_int(count_opens(opens, path + strlen("/dev/shm/")), 1);
	close(opens);
	close(fd);
	is_int(stats_read(65534, 0, (uint32_t)pid, 0, &page), -ESTALE);
	unlink(path);
}

TAP_TEST(stats_visit__file_of_one_user_with_the_name_of_another)
{
	struct stats_page page = {.magic = STATS_MAGIC, .size = sizeof(page)};
	pid_t pid = dead_pid();
	struct stats *stats;
	char path[96];
	int fd;

	if (geteuid() != 0) {
		tap_skip("needs root to give a file away");
		return;
	}
	name_of(path, 0, pid, 0);
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	is_int(find_pid((uint32_t)pid).n, 1);
	is_int(fchown(fd, 65534, 65534), 0);
	is_int(find_pid((uint32_t)pid).n, 0);
	close(fd);
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
	is_int(access(path, F_OK), 0); /* not ours to sweep */
	unlink(path);
	name_of(path, 65534, pid, 0);
	fd = put_file(path, &page, sizeof(page), sizeof(page));
	is_int(fchown(fd, 65534, 65534), 0);
	is_int(find_pid((uint32_t)pid).n, 1); /* root sees all users */
	close(fd);
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
	is_int(access(path, F_OK), 0);
	unlink(path);
}

TAP_TEST(stats_create__all_names_taken)
{
	struct stats *stats = NULL;
	char path[96];
	int n;

	for (n = 0; n < 256; n++) {
		name_of(path, geteuid(), getpid(), n);
		is_int(mkdir(path, 0700), 0);
	}
	is_int(stats_create(5, &stats), 0);
	is_int(stats_page(stats)->node, 5);
	stats_page(stats)->links[0].tx_bytes = 1;
	is_int(find_pid((uint32_t)getpid()).n, 0);
	stats_destroy(stats);
	for (n = 0; n < 256; n++) {
		name_of(path, geteuid(), getpid(), n);
		is_int(rmdir(path), 0);
	}
}

static int stop_at_once(void *arg, const struct stats_page *page)
{
	++*(int *)arg;
	return page->magic == STATS_MAGIC ? -ECANCELED : 0;
}

TAP_TEST(stats_visit__callback_stops_it)
{
	struct stats *a, *b;
	int calls = 0;

	is_int(stats_create(1, &a), 0);
	is_int(stats_create(2, &b), 0);
	is_int(stats_visit(0, stop_at_once, &calls), -ECANCELED);
	is_int(calls, 1);
	stats_destroy(a);
	stats_destroy(b);
}

TAP_TEST(stats_drop_name__all_are_named)
{
	int a, b;

	for (a = 0; a < DROP_REASONS; a++)
		for (b = 0; b < a; b++)
			ok(strcmp(stats_drop_name((enum drop_reason)a),
				  stats_drop_name((enum drop_reason)b)));
	is_str(stats_drop_name(DROP_KEY), "key");
	is_str(stats_drop_name(DROP_REASONS), "unknown");
	is_str(stats_drop_name((enum drop_reason) - 1), "unknown");
}

TAP_TEST(stats_visit__child_of_killed_writer_lingers)
{
	int status = 0, until[2], ready[2];
	struct stats *stats;
	char byte;
	pid_t pid;

	must(is_int(pipe(until), 0));
	must(is_int(pipe(ready), 0));
	pid = fork();
	if (!pid) {
		close(until[1]);
		if (stats_create(1, &stats))
			_exit(1);
		if (!fork())
			_exit(write(ready[1], "", 1) != 1 || read(until[0], &byte, 1) != 0);
		/* until it has run a child holds what its parent held */
		if (read(ready[0], &byte, 1) != 1)
			_exit(2);
		raise(SIGKILL);
	}
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	is_int(find_pid((uint32_t)pid).n, 0);
	close(until[1]);
	close(until[0]);
	close(ready[1]);
	close(ready[0]);
}

/*
 * Another sweeper was faster, and the name leads to a new context: the last moment before a file is
 * locked.
 */
TAP_TEST(stats_create__name_in_use_anew_when_swept)
{
	struct stats_page page = {.magic = STATS_MAGIC, .size = sizeof(page)};
	struct stats *stats;
	struct stat st;

	renewed.page = &page;
	name_of(renewed.path, geteuid(), dead_pid(), 0);
	close(open(renewed.path, O_CREAT | O_WRONLY, 0600));
	is_int(stat(renewed.path, &st), 0);
	renewed.old = st.st_ino;
	is_int(stats_create(1, &stats), 0);
	stats_destroy(stats);
	ok(!renewed.page); /* it came to that */
	is_int(access(renewed.path, F_OK), 0);
	close(renewed.fd);
	unlink(renewed.path);
}

/* The kernel would not only refuse the file, but end the process. */
TAP_TEST(stats_create__no_file_allowed)
{
	struct rlimit before, none;
	struct stats *stats;
	int rc;

	must(is_int(getrlimit(RLIMIT_FSIZE, &before), 0));
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	must(is_int(setrlimit(RLIMIT_FSIZE, &none), 0));
	rc = stats_create(3, &stats);
	setrlimit(RLIMIT_FSIZE, &before);
	must(is_int(rc, 0));
	is_int(stats_page(stats)->node, 3);
	is_int(find_pid((uint32_t)getpid()).n, 0);
	stats_destroy(stats);
}
