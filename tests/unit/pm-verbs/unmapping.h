/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unmapping - the ways in which memory gets other pages, and children to try things in. Each way
 * leaves plain private memory at the address again, with other pages.
 */
#ifndef TESTS_UNIT_PM_VERBS_UNMAPPING_H
#define TESTS_UNIT_PM_VERBS_UNMAPPING_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static inline char *unmapping_map_at(char *addr, size_t len, int fixed)
{
	char *at =
		mmap(addr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);

	okf(at != MAP_FAILED && (!fixed || at == addr), "%zu bytes", len);
	return at;
}

/* Far below where the kernel places what others map, so that nobody takes a hole in it. */
static inline char *unmapping_map(size_t len)
{
	static char *next = (char *)0x7e9000000000;

	next += 16 << 20;
	return unmapping_map_at(next, len, 0);
}

/* The one that leaves a hole. */
static inline void unmapping_only(char *addr, size_t len)
{
	is_int(munmap(addr, len), 0);
}

static inline void unmapping_munmap(char *addr, size_t len)
{
	unmapping_only(addr, len);
	unmapping_map_at(addr, len, MAP_FIXED_NOREPLACE);
}

static inline void unmapping_map_over(char *addr, size_t len)
{
	unmapping_map_at(addr, len, MAP_FIXED);
}

static inline void unmapping_move_away(char *addr, size_t len)
{
	char *other = unmapping_map(len);

	ok(mremap(addr, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
	unmapping_map_at(addr, len, MAP_FIXED_NOREPLACE);
	is_int(munmap(other, len), 0);
}

/* The pages go, the mapping stays. */
static inline void unmapping_move_pages(char *addr, size_t len)
{
	char *other = unmapping_map(len);

	ok(mremap(addr, len, len, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, other) ==
	   other);
	is_int(munmap(other, len), 0);
}

static inline void unmapping_move_over(char *addr, size_t len)
{
	char *other = unmapping_map(len);

	ok(mremap(other, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, addr) == addr);
}

static inline void unmapping_dontneed(char *addr, size_t len)
{
	is_int(madvise(addr, len, MADV_DONTNEED), 0);
}

static inline void unmapping_free(char *addr, size_t len)
{
	is_int(madvise(addr, len, MADV_FREE), 0);
}

/* One of them for a thread to do. */
struct unmapping {
	void (*do_it)(char *addr, size_t len);
	char *addr;
	size_t len;
};

static inline void *unmapping_thread(void *arg)
{
	const struct unmapping *job = arg;

	job->do_it(job->addr, job->len);
	return NULL;
}

/* The exit code of a child, or minus its signal. */
static inline int unmapping_wait(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int unmapping_fork(int (*fn)(void *arg), void *arg)
{
	pid_t child = fork();

	if (!child)
		_exit(fn(arg));
	return unmapping_wait(child);
}

/* As a container's filter does. Whether it worked; there is no way back. */
static inline bool unmapping_refuse_userfaultfd(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
