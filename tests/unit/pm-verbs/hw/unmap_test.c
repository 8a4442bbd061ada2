// SPDX-License-Identifier: BSD-3-Clause
/*
 * unmap: each way in which memory gets other pages is told, to whom and when; and what the kernel
 * promises.
 */
#include "pm-verbs/hw/unmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/pm-verbs/unmapping.h"

#define PAGE 4096u
#define LEN (8 * (size_t)PAGE)

static char why[256];

/* Ranges that unmap_poll has reported. */
struct told {
	uint32_t n;
	uintptr_t start, end; /* of all together */
};

static void hear(void *arg, uintptr_t addr, size_t len)
{
	struct told *told = arg;
	uintptr_t end = len > UINTPTR_MAX - addr ? UINTPTR_MAX : addr + len;

	if (!told->n++ || addr < told->start)
		told->start = addr;
	if (end > told->end)
		told->end = end;
}

static struct unmap_watch *open_watch(void)
{
	struct unmap_watch *watch = NULL;

	if (unmap_open(why, sizeof(why), &watch))
		tap_skip("%s", why);
	return watch;
}

static char *map(size_t len)
{
	char *addr = unmapping_map(len);

	memset(addr, 1, len);
	return addr;
}

TAP_TEST(unmap_poll__nothing_happened)
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	char *memory = map(LEN);

	if (!watch)
		return;
	is_int(unmap_add(watch, memory, LEN), 0);
	is_int(unmap_add(watch, memory, LEN), 0);
	ok(unmap_is_told_all(watch, memory, LEN));
	memset(memory, 2, LEN);
	is_int(mprotect(memory, LEN, PROT_READ), 0);
	ok(!unmap_has_news(watch));
	ok(unmap_poll(watch, hear, &told));
	is_int(told.n, 0);
	unmap_close(watch);
	munmap(memory, LEN);
}

/* The hint may come a moment after the change; what unmap_poll tells does not. */
static void await_news(const struct unmap_watch *watch)
{
	for (int i = 0; i < 1000000 && !unmap_has_news(watch); i++)
		sched_yield();
	ok(unmap_has_news(watch));
}

/* @do_it to 4 pages from the third on. */
static void check_told(void (*do_it)(char *addr, size_t len))
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	char *memory = map(LEN), *inner = memory + 2 * PAGE;

	if (!watch)
		return;
	is_int(unmap_add(watch, memory, LEN), 0);
	do_it(inner, 4 * PAGE);
	await_news(watch);
	ok(unmap_poll(watch, hear, &told));
	ok(told.n > 0);
	okf(told.start <= (uintptr_t)inner && told.end >= (uintptr_t)inner + 4 * PAGE, "the range");
	/* memory that has moved stays watched, so its own end is told too */
	if (do_it != unmapping_move_away && do_it != unmapping_move_pages)
		is_int(told.end - told.start, 4 * PAGE);
	ok(!unmap_has_news(watch));
	told = (struct told){0};
	ok(unmap_poll(watch, hear, &told));
	is_int(told.n, 0);
	unmap_close(watch);
	munmap(memory, LEN);
}

TAP_TEST(unmap_poll__munmap)
{
	check_told(unmapping_munmap);
}

TAP_TEST(unmap_poll__mapped_over)
{
	check_told(unmapping_map_over);
}

TAP_TEST(unmap_poll__moved_away)
{
	check_told(unmapping_move_away);
}

TAP_TEST(unmap_poll__pages_moved)
{
	check_told(unmapping_move_pages);
}

TAP_TEST(unmap_poll__moved_over)
{
	check_told(unmapping_move_over);
}

TAP_TEST(unmap_poll__dontneed)
{
	check_told(unmapping_dontneed);
}

TAP_TEST(unmap_poll__madvise_free)
{
	check_told(unmapping_free);
}

TAP_TEST(unmap_poll__shrunk)
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	char *memory = map(LEN);

	if (!watch)
		return;
	is_int(unmap_add(watch, memory, LEN), 0);
	ok(mremap(memory, LEN, PAGE, 0) == memory);
	ok(unmap_poll(watch, hear, &told));
	okf(told.start == (uintptr_t)memory + PAGE && told.end == (uintptr_t)memory + LEN, "tail");
	unmap_close(watch);
	munmap(memory, PAGE);
}

TAP_TEST(unmap_poll__brk)
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	char *heap = sbrk(LEN + PAGE), *memory;

	if (!watch)
		return;
	memory = (char *)(((uintptr_t)heap + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	memset(memory, 1, LEN);
	is_int(unmap_add(watch, memory, LEN), 0);
	sbrk(-(intptr_t)(LEN + PAGE));
	ok(unmap_poll(watch, hear, &told));
	okf(told.n && told.end >= (uintptr_t)memory + LEN, "the heap's end");
	unmap_close(watch);
}

TAP_TEST(unmap_poll__another_thread)
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	struct unmapping job = {.do_it = unmapping_only, .len = LEN};
	pthread_t thread;

	if (!watch)
		return;
	job.addr = map(LEN);
	is_int(unmap_add(watch, job.addr, LEN), 0);
	must(!pthread_create(&thread, NULL, unmapping_thread, &job));
	pthread_join(thread, NULL);
	ok(unmap_poll(watch, hear, &told));
	is_int(told.n, 1);
	unmap_close(watch);
}

TAP_TEST(unmap_poll__each_watch_is_told)
{
	struct unmap_watch *a = open_watch(), *b;
	struct told told = {0};
	char *memory = map(LEN);

	if (!a)
		return;
	b = open_watch();
	is_int(unmap_add(a, memory, LEN), 0);
	munmap(memory, LEN);
	ok(unmap_poll(a, hear, &told));
	ok(unmap_poll(b, hear, &told));
	is_int(told.n, 2);
	unmap_close(a);
	memory = map(LEN);
	is_int(unmap_add(b, memory, LEN), 0);
	munmap(memory, LEN);
	ok(unmap_poll(b, hear, &told));
	is_int(told.n, 3);
	unmap_close(b);
}

TAP_TEST(unmap_poll__more_than_it_remembers)
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	char *memory = map(200 * (size_t)PAGE);

	if (!watch)
		return;
	is_int(unmap_add(watch, memory, 200 * (size_t)PAGE), 0);
	for (int i = 0; i < 200; i++)
		madvise(memory + i * (size_t)PAGE, PAGE, MADV_DONTNEED);
	ok(unmap_poll(watch, hear, &told));
	ok(told.n < 200);
	okf(told.start == 0 && told.end == UINTPTR_MAX, "all there is");
	unmap_close(watch);
	munmap(memory, 200 * (size_t)PAGE);
}

TAP_TEST(unmap_add__what_cannot_be_watched)
{
	struct unmap_watch *watch = open_watch();
	char *file, *shared, *memory = map(LEN);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (!watch)
		return;
	file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	must(file != MAP_FAILED);
	is_int(unmap_add(watch, file, PAGE), -EINVAL);
	munmap(file, PAGE);
	close(fd);
	munmap(memory, LEN);
	is_int(unmap_add(watch, memory, LEN), -EINVAL);
	/* some kernels watch it, but its other end may cut it off unheard */
	shared = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(shared, 1, LEN);
	ok(unmap_add(watch, shared, LEN) || !unmap_is_told_all(watch, shared, LEN));
	munmap(shared, LEN);
	unmap_close(watch);
}

/* Nobody is left waiting for a reader that has gone. */
TAP_TEST(unmap_close__what_was_watched_is_plain_memory)
{
	struct unmap_watch *watch = open_watch();
	char *memory = map(LEN);

	if (!watch)
		return;
	is_int(unmap_add(watch, memory, LEN), 0);
	unmap_close(watch);
	is_int(munmap(memory, LEN), 0);
	unmap_close(NULL);
}

TAP_TEST(unmap_close__while_others_unmap)
{
	struct unmapping job = {.do_it = unmapping_only, .len = LEN};

	for (int i = 0; i < 200; i++) {
		struct unmap_watch *watch = open_watch();
		pthread_t thread;

		if (!watch)
			return;
		job.addr = map(LEN);
		is_int(unmap_add(watch, job.addr, LEN), 0);
		must(!pthread_create(&thread, NULL, unmapping_thread, &job));
		unmap_close(watch);
		pthread_join(thread, NULL);
	}
}

/* The parent's watch tells a child nothing, and the child's leaves the parent's alone. */
static int in_child(void *arg)
{
	struct unmap_watch *watch = arg, *own = NULL;
	struct told told = {0};
	char *memory = map(LEN);

	if (unmap_poll(watch, hear, &told) || !unmap_add(watch, memory, LEN) ||
	    unmap_is_told_all(watch, memory, LEN))
		return 1;
	unmap_close(watch);
#ifdef __SANITIZE_THREAD__
	return 0; /* it does not bear threads of a child */
#endif
	if (unmap_open(why, sizeof(why), &own) || unmap_add(own, memory, LEN))
		return 2;
	munmap(memory, LEN);
	if (!unmap_poll(own, hear, &told) || told.n != 1)
		return 3;
	unmap_close(own);
	return 0;
}

TAP_TEST(unmap__child_has_its_own)
{
	struct unmap_watch *watch = open_watch();
	struct told told = {0};
	char *memory = map(LEN);

	if (!watch)
		return;
	is_int(unmap_add(watch, memory, LEN), 0);
	is_int(unmapping_fork(in_child, watch), 0);
	ok(unmap_poll(watch, hear, &told));
	is_int(told.n, 0);
	munmap(memory, LEN);
	ok(unmap_poll(watch, hear, &told));
	is_int(told.n, 1);
	unmap_close(watch);
}

/* A child that lingers does not keep the parent's memory watched. */
TAP_TEST(unmap_close__while_a_child_lives)
{
	struct unmap_watch *watch = open_watch();
	char *memory = map(LEN), end;
	int pipes[2];
	pid_t child;

	if (!watch)
		return;
	must(!pipe(pipes));
	is_int(unmap_add(watch, memory, LEN), 0);
	child = fork();
	if (!child) {
		close(pipes[1]);
		_exit(read(pipes[0], &end, 1) != 0);
	}
	unmap_close(watch);
	is_int(munmap(memory, LEN), 0);
	close(pipes[0]);
	close(pipes[1]);
	is_int(unmapping_wait(child), 0);
}

static int open_refused(void *arg)
{
	struct unmap_watch *watch = NULL;

	if (!unmapping_refuse_userfaultfd())
		return 1;
	if (unmap_open(why, sizeof(why), &watch) != -EPERM || watch)
		return 2;
	return strstr(why, "userfaultfd") && strstr(why, strerror(EPERM)) ? 0 : 3;
}

TAP_TEST(unmap_open__refused_says_why)
{
	is_int(unmapping_fork(open_refused, NULL), 0);
}

static int open_unprivileged(void *arg)
{
	struct unmap_watch *watch = NULL;
	struct told told = {0};
	char *memory = map(LEN);

	/*
	 * who has changed its user may not look at itself any more; a program started by the user
	 * may
	 */
	if (!geteuid() && (setuid(65534) || prctl(PR_SET_DUMPABLE, 1)))
		return 1;
	if (unmap_open(why, sizeof(why), &watch)) {
		tap_diag("%s", why);
		return 2;
	}
	if (unmap_add(watch, memory, LEN))
		return 3;
	if (!unmap_is_told_all(watch, memory, LEN))
		return 4;
	munmap(memory, LEN);
	if (!unmap_poll(watch, hear, &told) || told.n != 1)
		return 5;
	unmap_close(watch);
	return 0;
}

TAP_TEST(unmap_open__needs_no_privilege)
{
	struct unmap_watch *watch = open_watch();

	if (!watch)
		return;
	unmap_close(watch);
	is_int(unmapping_fork(open_unprivileged, NULL), 0);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TAP_TEST(unmap_close__leaves_nothing)
{
	int before = count_descriptors();
	struct unmap_watch *watch = open_watch();

	if (!watch)
		return;
	ok(count_descriptors() > before);
	unmap_close(watch);
	is_int(count_descriptors(), before);
}

static int count_in_child(void *arg)
{
	return count_descriptors();
}

/* Their numbers are others' from then on: a child keeps them. */
TAP_TEST(unmap_close__forgets_its_descriptors)
{
	struct unmap_watch *watch = open_watch();
	int fds[4];

	if (!watch)
		return;
	unmap_close(watch);
	for (int i = 0; i < 4; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	is_int(unmapping_fork(count_in_child, NULL), count_descriptors());
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

/*
 * unmap_poll relies on this: from before the pages are gone until the event is read, the kernel
 * refuses an empty copy with EAGAIN. At all other times it refuses it with EINVAL.
 */
TAP_TEST(kernel__says_that_a_change_is_under_way)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP};
	struct unmapping job = {.do_it = unmapping_only, .len = LEN};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_copy nothing = {0};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
	struct pollfd events = {.fd = fd, .events = POLLIN};
	struct uffd_msg msg;
	pthread_t thread;

	if (fd < 0) {
		tap_skip("userfaultfd: %s", strerror(errno));
		return;
	}
	job.addr = map(LEN);
	range.range = (struct uffdio_range){(uintptr_t)job.addr, LEN};
	is_int(ioctl(fd, UFFDIO_API, &api), 0);
	is_int(ioctl(fd, UFFDIO_REGISTER, &range), 0);
	okf(ioctl(fd, UFFDIO_COPY, &nothing) < 0 && errno == EINVAL, "quiet: %m");
	must(!pthread_create(&thread, NULL, unmapping_thread, &job));
	is_int(poll(&events, 1, 10000), 1);
	nothing = (struct uffdio_copy){0};
	okf(ioctl(fd, UFFDIO_COPY, &nothing) < 0 && errno == EAGAIN, "under way: %m");
	/* by then others may map there */
	ok(mmap(job.addr, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		0) == job.addr);
	is_int(read(fd, &msg, sizeof(msg)), sizeof(msg));
	is_int(msg.event, UFFD_EVENT_UNMAP);
	pthread_join(thread, NULL);
	nothing = (struct uffdio_copy){0};
	okf(ioctl(fd, UFFDIO_COPY, &nothing) < 0 && errno == EINVAL, "quiet again: %m");
	close(fd);
	munmap(job.addr, LEN);
}
