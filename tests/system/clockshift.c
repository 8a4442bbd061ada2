// SPDX-License-Identifier: BSD-3-Clause
/*
 * clockshift - preloaded into a daemon, it sets the clock of that daemon alone. CLOCK_REALTIME is
 * off by as many nanoseconds as the file $CLOCKSHIFT says, in eight bytes, and somebody may write
 * others at any time. All calls by which daemons, libev and munged ask for the time are here. So is
 * the futex that waits for a moment of it: the kernel wakes that one when a clock is set.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define LOOK_NS 5000000ll /* as long as a waiting futex misses that the clock was set */

static const volatile int64_t *shift;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("CLOCKSHIFT");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		abort(); /* the test would try nothing */
	close(fd);
	shift = at;
}

static int64_t real_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*next)(clockid_t, struct timespec *);
	int64_t ns;

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (next(clock, ts))
		return -1;
	if (clock != CLOCK_REALTIME || !shift)
		return 0;
	ns = ts->tv_sec * SECOND_NS + ts->tv_nsec + *shift;
	*ts = (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	int64_t ns = real_ns(CLOCK_REALTIME);

	(void)zone;
	*tv = (struct timeval){.tv_sec = ns / SECOND_NS, .tv_usec = ns % SECOND_NS / 1000};
	return 0;
}

time_t time(time_t *ret)
{
	time_t now = real_ns(CLOCK_REALTIME) / SECOND_NS;

	if (ret)
		*ret = now;
	return now;
}

/*
 * The kernel's clock is the real one: as long as the moment lies ahead on ours it is asked for a
 * short while.
 */
static long wait_for(long (*next)(long, ...), const long a[6])
{
	const struct timespec *until = (const struct timespec *)a[3];
	int64_t until_ns = until->tv_sec * SECOND_NS + until->tv_nsec;
	long done;

	do {
		int64_t left = until_ns - real_ns(CLOCK_REALTIME);
		int64_t soon = real_ns(CLOCK_MONOTONIC) + (left < LOOK_NS ? left : LOOK_NS);
		struct timespec ts = {.tv_sec = soon / SECOND_NS, .tv_nsec = soon % SECOND_NS};

		done = next(SYS_futex, a[0], a[1] & ~FUTEX_CLOCK_REALTIME, a[2], &ts, a[4], a[5]);
	} while (done && errno == ETIMEDOUT && real_ns(CLOCK_REALTIME) < until_ns);
	return done;
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	va_list all;
	long a[6];

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(all, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(all, long);
	va_end(all);
	if (number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) && a[3])
		return wait_for(next, a);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
