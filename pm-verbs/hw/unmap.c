// SPDX-License-Identifier: BSD-3-Clause
/*
 * unmap - one userfaultfd per process (a mapping can belong to only one), a thread that reads its
 * events and notes them for each watch. The thread starts with the first memory that is watched:
 * most contexts watch none.
 *
 * Ranges are registered for write protection and no page is ever protected: so there are no page
 * faults to resolve, only the events of the mappings. (Registered for missing pages, as others do,
 * memory that was discarded makes read(2) into it fail with EFAULT until somebody unregisters it.)
 * It needs no privilege with UFFD_USER_MODE_ONLY. Replacing libc's munmap and its kin, in their
 * tables or their instructions, was the other way: it races with running threads, misses system
 * calls made elsewhere, and fights with libraries that do the same.
 *
 * munmap takes the pages away, lets others map there, and only then sends its event. The kernel
 * counts changes from before the pages go to after the event was read, and refuses UFFDIO_COPY
 * while there are any: unmap_poll asks by a copy of nothing.
 *
 * Stopped or frozen, the reader may leave a thread waiting in munmap, killable, until the process
 * goes on. A cgroup of such a process is not reported as frozen, though nothing of it runs: who
 * freezes must not wait for that.
 *
 * Under the lock nobody allocates, frees or unmaps: that would wait for the reader, who waits for
 * the lock.
 */
#include "pm-verbs/hw/unmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmcore/util/forked.h"

#define NOTES 64                /* ranges a watch remembers; more become "all" */
#define STACK_BYTES (256 << 10) /* of the reader; a process's thread-local storage is part of it */

/*
 * From a kernel that has the last of them on (5.18), the count of changes is exact, and fork copies
 * pinned pages.
 */
#define FEATURES                                                                                   \
	(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE |         \
	 UFFD_FEATURE_EXACT_ADDRESS)

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

struct note {
	uintptr_t addr;
	size_t len; /* bytes */
};

struct unmap_watch {
	struct unmap_watch *next; /* of the process, under the lock */
	unsigned int generation;  /* of the process that made it */
	bool has_news;            /* atomic: n_notes > 0 */
	uint32_t n_notes;         /* under the lock */
	struct note notes[NOTES]; /* under the lock */
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER; /* start and stop of the reader */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* of events, watches and descriptors */
static unsigned int generation; /* one more in each child; changed while it has one thread */
static bool is_fork_handled;

/* Of this process, under the lock; descriptors are -1 when there are none. */
static struct {
	struct unmap_watch *watches;
	int events;     /* the userfaultfd */
	int stop;       /* eventfd: the reader shall end */
	int pagemap;    /* -1 also when shared memory can't be registered at all */
	bool is_broken; /* the reader has given up */
	bool is_read;   /* atomic, changed under `opening`: there is a reader */
	pthread_t reader;
} us = {.events = -1, .stop = -1, .pagemap = -1};

/*
 * --- the reader
 * -------------------------------------------------------------------------------------
 */

static void note(struct unmap_watch *watch, uintptr_t addr, size_t len)
{
	if (watch->n_notes == NOTES)
		watch->notes[--watch->n_notes] = (struct note){0, SIZE_MAX};
	else
		watch->notes[watch->n_notes] = (struct note){addr, len};
	watch->n_notes++;
	__atomic_store_n(&watch->has_news, true, __ATOMIC_RELEASE);
}

static void note_all(const struct uffd_msg *msg)
{
	struct unmap_watch *watch;

	for (watch = us.watches; watch; watch = watch->next) {
		if (msg->event == UFFD_EVENT_REMAP)
			note(watch, msg->arg.remap.from, msg->arg.remap.len);
		else if (msg->event == UFFD_EVENT_UNMAP || msg->event == UFFD_EVENT_REMOVE)
			note(watch, msg->arg.remove.start,
			     msg->arg.remove.end - msg->arg.remove.start);
	}
}

/*
 * The unmapping thread goes on as soon as its event is read, so reading and noting are one under
 * the lock. Whether reading works.
 */
static bool read_events(void)
{
	struct uffd_msg msg[16];
	ssize_t len;
	int error;

	pthread_mutex_lock(&lock);
	len = read(us.events, msg, sizeof(msg));
	error = errno;
	for (ssize_t i = 0; i < len / (ssize_t)sizeof(*msg); i++)
		note_all(&msg[i]);
	pthread_mutex_unlock(&lock);
	return len > 0 || (len < 0 && (error == EAGAIN || error == EINTR));
}

/* Closing lets go whoever waits for an event to be read. */
static void close_events(void)
{
	int fd;

	pthread_mutex_lock(&lock);
	us.is_broken = true;
	fd = us.events;
	us.events = -1;
	pthread_mutex_unlock(&lock);
	forked_keep(fd);
	close(fd);
}

static void *reader(void *arg)
{
	struct pollfd fds[2] = {{.fd = us.events, .events = POLLIN},
				{.fd = us.stop, .events = POLLIN}};

	do {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
	} while (!fds[1].revents && read_events());
	close_events();
	return NULL;
}

/*
 * --- start and stop
 * ----------------------------------------------------------------------------------
 */

/*
 * The child has no reader, and its descriptors lead to its parent's memory; `forked` closes them.
 * The locks are not held across fork: handlers of others, which may unmap, run in between.
 */
static void in_child(void)
{
	us.watches = NULL;
	us.events = us.stop = us.pagemap = -1;
	us.is_read = false;
	generation++;
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&opening, NULL);
}

static void close_fd(int *fd)
{
	if (*fd < 0)
		return;
	forked_keep(*fd);
	close(*fd);
	*fd = -1;
}

static int keep_fd(int fd, int *ret_fd)
{
	int rc;

	if (fd < 0)
		return -errno;
	rc = forked_close(fd);
	if (rc)
		close(fd);
	else
		*ret_fd = fd;
	return rc;
}

static int register_pages(const void *addr, size_t len)
{
	struct uffdio_register request = {.range = {(uintptr_t)addr, len},
					  .mode = UFFDIO_REGISTER_MODE_WP};

	return ioctl(us.events, UFFDIO_REGISTER, &request) ? -errno : 0;
}

/* Whether the kernel would watch shared memory: by a page of it. */
static int probe_shared(bool *ret_is_watched)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct uffdio_range range = {(uintptr_t)page, len};

	if (page == MAP_FAILED)
		return -errno;
	*ret_is_watched = !register_pages(page, len);
	/* nobody reads yet */
	if (*ret_is_watched && ioctl(us.events, UFFDIO_UNREGISTER, &range))
		return -errno;
	munmap(page, len);
	return 0;
}

/* On failure the caller closes what there is. */
static int open_events(const char **ret_what)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};
	bool is_shared_watched;
	int rc;

	*ret_what = "userfaultfd (vm.unprivileged_userfaultfd, or a filter of system calls)";
	rc = keep_fd((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY),
		     &us.events);
	if (rc)
		return rc;
	*ret_what = "userfaultfd's events (Linux 5.18 has them)";
	if (ioctl(us.events, UFFDIO_API, &api))
		return -errno;
	*ret_what = "a page of shared memory";
	rc = probe_shared(&is_shared_watched);
	if (rc || !is_shared_watched)
		return rc;
	*ret_what = "/proc/self/pagemap";
	return keep_fd(open(*ret_what, O_RDONLY | O_CLOEXEC), &us.pagemap);
}

/* Signals are for other threads: a handler that unmapped would wait for the thread it runs on. */
static int start_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc)
		return -rc;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&us.reader, &attr, reader, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!rc)
		pthread_setname_np(us.reader, "pm-unmap");
	return -rc;
}

static int start(const char **ret_what)
{
	int rc;

	*ret_what = "a fork handler";
	if (!is_fork_handled && pthread_atfork(NULL, NULL, in_child))
		return -ENOMEM;
	is_fork_handled = true;
	us.is_broken = false;
	rc = open_events(ret_what);
	if (rc)
		goto close;
	*ret_what = "an eventfd";
	rc = keep_fd(eventfd(0, EFD_CLOEXEC), &us.stop);
	if (!rc)
		return 0;
close:
	close_fd(&us.stop);
	close_fd(&us.pagemap);
	close_fd(&us.events);
	return rc;
}

/* Nothing is watched yet, so nobody waits while it is not there. */
static int ensure_reader(void)
{
	int rc = 0;

	if (__atomic_load_n(&us.is_read, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&opening);
	if (!us.is_read)
		rc = start_thread();
	if (!rc)
		__atomic_store_n(&us.is_read, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&opening);
	return rc;
}

static void stop(void)
{
	if (us.is_read) {
		eventfd_write(us.stop, 1);
		pthread_join(us.reader, NULL);
	}
	us.is_read = false;
	close_fd(&us.events);
	close_fd(&us.stop);
	close_fd(&us.pagemap);
}

static void link_watch(struct unmap_watch *watch)
{
	pthread_mutex_lock(&lock);
	watch->generation = generation;
	watch->next = us.watches;
	us.watches = watch;
	pthread_mutex_unlock(&lock);
}

static void unlink_watch(const struct unmap_watch *watch)
{
	pthread_mutex_lock(&lock);
	for (struct unmap_watch **at = &us.watches; *at; at = &(*at)->next) {
		if (*at == watch) {
			*at = watch->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

int unmap_open(char *ret_why, size_t why_len, struct unmap_watch **ret_watch)
{
	struct unmap_watch *watch = calloc(1, sizeof(*watch));
	const char *what = "memory";
	int rc = watch ? 0 : -ENOMEM;

	pthread_mutex_lock(&opening);
	if (!rc && !us.watches)
		rc = start(&what);
	if (!rc)
		link_watch(watch);
	pthread_mutex_unlock(&opening);
	if (rc) {
		free(watch);
		snprintf(ret_why, why_len, "no notice of unmapped memory: %s: %s", what,
			 strerror(-rc));
		return rc;
	}
	*ret_watch = watch;
	return 0;
}

void unmap_close(struct unmap_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&opening);
	if (watch->generation == generation) {
		unlink_watch(watch);
		if (!us.watches)
			stop();
	}
	pthread_mutex_unlock(&opening);
	free(watch);
}

/*
 * --- a watch
 * ------------------------------------------------------------------------------------------
 */

/* Under the lock. */
static bool is_told(const struct unmap_watch *watch)
{
	return watch->generation == generation && !us.is_broken;
}

int unmap_add(struct unmap_watch *watch, void *addr, size_t len)
{
	int rc = watch->generation == generation ? ensure_reader() : -ESTALE;

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	rc = is_told(watch) ? register_pages(addr, len) : -ESTALE;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Bits of a page in the kernel's pagemap. */
#define IS_PRESENT (1ull << 63)
#define IS_SHARED (1ull << 61)

bool unmap_is_told_all(struct unmap_watch *watch, const void *addr, size_t len)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), pages[256];
	uint64_t first = (uintptr_t)addr / page_bytes, n = len / page_bytes;

	if (watch->generation != generation)
		return false;
	/* constant while there is a watch */
	if (us.pagemap < 0)
		return true;
	while (n > 0) {
		size_t batch = n < 256 ? n : 256;

		if (pread(us.pagemap, pages, batch * 8, (off_t)(first * 8)) != (ssize_t)batch * 8)
			return false;
		for (size_t i = 0; i < batch; i++)
			if ((pages[i] & (IS_PRESENT | IS_SHARED)) != IS_PRESENT)
				return false;
		first += batch;
		n -= batch;
	}
	return true;
}

bool unmap_has_news(const struct unmap_watch *watch)
{
	return __atomic_load_n(&watch->has_news, __ATOMIC_ACQUIRE);
}

/* Whether every change that has begun was read. Under the lock, so it was noted too. */
static bool is_quiet(void)
{
	struct uffdio_copy nothing = {0};

	return ioctl(us.events, UFFDIO_COPY, &nothing) < 0 && errno == EINVAL;
}

bool unmap_poll(struct unmap_watch *watch, void (*gone)(void *arg, uintptr_t addr, size_t len),
		void *arg)
{
	struct note notes[NOTES];
	uint32_t n;
	bool is_certain;

	pthread_mutex_lock(&lock);
	is_certain = is_told(watch) && is_quiet();
	n = watch->n_notes;
	if (n > 0)
		memcpy(notes, watch->notes, n * sizeof(*notes));
	watch->n_notes = 0;
	__atomic_store_n(&watch->has_news, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < n; i++)
		gone(arg, notes[i].addr, notes[i].len);
	return is_certain;
}
