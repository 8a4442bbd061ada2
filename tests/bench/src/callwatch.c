// SPDX-License-Identifier: BSD-3-Clause
/*
 * callwatch.so - loaded before a program (LD_PRELOAD), it takes the time of each system call by
 * which a device of PM sends, receives and waits. Owns the counts, in slices of time, and the file
 * they are written to when the program ends: $CALLWATCH.PID, one JSON object. Knows nothing of PM.
 *
 * A call that found nothing is counted twice: among all, and among those that were idle. Calls of
 * other threads than the first one pass uncounted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 10000000ull
#define SLICES 6000 /* a minute; what comes later is not counted */

enum call {
	SEND,
	SENDTO,
	SENDMSG,
	SENDMMSG,
	SENDFILE,
	RECVFROM,
	RECVMSG,
	RECVMMSG,
	POLL,
	PPOLL,
	EPOLL_WAIT,
	SCHED_YIELD,
	PROCESS_VM_READV,
	CALLS
};

static const char *const names[CALLS] = {
	"send",     "sendto", "sendmsg", "sendmmsg",   "sendfile",    "recvfrom",         "recvmsg",
	"recvmmsg", "poll",   "ppoll",   "epoll_wait", "sched_yield", "process_vm_readv",
};

struct count {
	uint64_t calls, ns;           /* all of them */
	uint64_t idle_calls, idle_ns; /* those that found nothing */
	uint64_t bytes;               /* sent, received or copied */
};

static struct count counts[SLICES][CALLS];
static uint64_t start_ns;
static __thread bool is_first_thread;
static void *real[CALLS];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void *find(enum call call)
{
	if (!real[call])
		real[call] = dlsym(RTLD_NEXT, names[call]);
	if (!real[call]) {
		fprintf(stderr, "callwatch: the C library has no %s\n", names[call]);
		abort();
	}
	return real[call];
}

/* A call since @from_ns has ended; errno stays. */
static void note(enum call call, uint64_t from_ns, bool is_idle, uint64_t bytes)
{
	uint64_t to_ns, slice = (from_ns - start_ns) / SLICE_NS;
	struct count *count;

	if (!is_first_thread || slice >= SLICES)
		return;
	to_ns = now_ns();
	count = &counts[slice][call];
	count->calls++;
	count->ns += to_ns - from_ns;
	count->bytes += bytes;
	if (is_idle) {
		count->idle_calls++;
		count->idle_ns += to_ns - from_ns;
	}
}

static uint64_t bytes_of(ssize_t result)
{
	return result > 0 ? (uint64_t)result : 0;
}

static uint64_t bytes_in(const struct mmsghdr *messages, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += messages[i].msg_len;
	return bytes;
}

/* --- the calls -------------------------------------------------------------------------------- */

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	ssize_t (*call)(int, const void *, size_t, int) = find(SEND);
	uint64_t from_ns = now_ns();
	ssize_t result = call(fd, data, len, flags);

	note(SEND, from_ns, false, bytes_of(result));
	return result;
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
	       socklen_t to_len)
{
	ssize_t (*call)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
		find(SENDTO);
	uint64_t from_ns = now_ns();
	ssize_t result = call(fd, data, len, flags, to, to_len);

	note(SENDTO, from_ns, false, bytes_of(result));
	return result;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t (*call)(int, const struct msghdr *, int) = find(SENDMSG);
	uint64_t from_ns = now_ns();
	ssize_t result = call(fd, message, flags);

	note(SENDMSG, from_ns, false, bytes_of(result));
	return result;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	int (*call)(int, struct mmsghdr *, unsigned int, int) = find(SENDMMSG);
	uint64_t from_ns = now_ns();
	int result = call(fd, messages, n, flags);

	note(SENDMMSG, from_ns, false, bytes_in(messages, result));
	return result;
}

ssize_t sendfile(int fd, int from, off_t *at, size_t len)
{
	ssize_t (*call)(int, int, off_t *, size_t) = find(SENDFILE);
	uint64_t from_ns = now_ns();
	ssize_t result = call(fd, from, at, len);

	note(SENDFILE, from_ns, false, bytes_of(result));
	return result;
}

ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
		 socklen_t *from_len)
{
	ssize_t (*call)(int, void *, size_t, int, struct sockaddr *, socklen_t *) = find(RECVFROM);
	uint64_t from_ns = now_ns();
	ssize_t result = call(fd, buf, len, flags, from, from_len);

	note(RECVFROM, from_ns, result < 0, bytes_of(result));
	return result;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t (*call)(int, struct msghdr *, int) = find(RECVMSG);
	uint64_t from_ns = now_ns();
	ssize_t result = call(fd, message, flags);

	note(RECVMSG, from_ns, result < 0, bytes_of(result));
	return result;
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags, struct timespec *timeout)
{
	int (*call)(int, struct mmsghdr *, unsigned int, int, struct timespec *) = find(RECVMMSG);
	uint64_t from_ns = now_ns();
	int result = call(fd, messages, n, flags, timeout);

	note(RECVMMSG, from_ns, result <= 0, bytes_in(messages, result));
	return result;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int (*call)(struct pollfd *, nfds_t, int) = find(POLL);
	uint64_t from_ns = now_ns();
	int result = call(fds, n, timeout);

	note(POLL, from_ns, result <= 0, 0);
	return result;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int (*call)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		find(PPOLL);
	uint64_t from_ns = now_ns();
	int result = call(fds, n, timeout, mask);

	note(PPOLL, from_ns, result <= 0, 0);
	return result;
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	int (*call)(int, struct epoll_event *, int, int) = find(EPOLL_WAIT);
	uint64_t from_ns = now_ns();
	int result = call(fd, events, n, timeout);

	note(EPOLL_WAIT, from_ns, result <= 0, 0);
	return result;
}

/* A program that yields has nothing to do, so the call counts as idle. */
int sched_yield(void)
{
	int (*call)(void) = find(SCHED_YIELD);
	uint64_t from_ns = now_ns();
	int result = call();

	note(SCHED_YIELD, from_ns, true, 0);
	return result;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
			 const struct iovec *from, unsigned long n_from, unsigned long flags)
{
	ssize_t (*call)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
			unsigned long, unsigned long) = find(PROCESS_VM_READV);
	uint64_t from_ns = now_ns();
	ssize_t result = call(pid, to, n_to, from, n_from, flags);

	note(PROCESS_VM_READV, from_ns, result < 0, bytes_of(result));
	return result;
}

/* --- life ------------------------------------------------------------------------------------- */

static __attribute__((constructor)) void begin(void)
{
	is_first_thread = true;
	start_ns = now_ns();
	for (int i = 0; i < CALLS; i++)
		find((enum call)i);
}

/*
 * An array for each slice in which the call was made: its number, then the fields of struct count.
 */
static void write_call(FILE *out, enum call call)
{
	const char *comma = "";

	fprintf(out, "\"%s\": [", names[call]);
	for (int i = 0; i < SLICES; i++) {
		const struct count *count = &counts[i][call];

		if (!count->calls)
			continue;
		fprintf(out, "%s[%d, %ju, %ju, %ju, %ju, %ju]", comma, i, (uintmax_t)count->calls,
			(uintmax_t)count->ns, (uintmax_t)count->idle_calls,
			(uintmax_t)count->idle_ns, (uintmax_t)count->bytes);
		comma = ", ";
	}
	fprintf(out, "]%s", call + 1 < CALLS ? ", " : "");
}

static __attribute__((destructor)) void end(void)
{
	const char *base = getenv("CALLWATCH"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	char path[4096];
	FILE *out;

	if (!base)
		return;
	snprintf(path, sizeof(path), "%s.%d", base, (int)getpid());
	out = fopen(path, "we");
	if (!out) {
		perror(path);
		return;
	}
	fprintf(out, "{\"program\": \"%s\", \"rank\": %d, \"start_ns\": %ju, \"slice_ns\": %ju, ",
		program_invocation_short_name, rank ? atoi(rank) : -1, (uintmax_t)start_ns,
		(uintmax_t)SLICE_NS);
	fprintf(out, "\"calls\": {");
	for (int i = 0; i < CALLS; i++)
		write_call(out, (enum call)i);
	fprintf(out, "}}\n");
	fclose(out);
}
