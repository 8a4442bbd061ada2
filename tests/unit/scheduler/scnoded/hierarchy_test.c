// SPDX-License-Identifier: BSD-3-Clause
/*
 * hierarchy: mount tables of several hosts, and a directory with the files of a control group.
 * Nobody is killed: kill() is the test's.
 */
#include "scheduler/scnoded/hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define V1                                                                                         \
	"tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0\n"                                             \
	"cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n"                               \
	"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"                            \
	"cgroup /sys/fs/cgroup/freezer cgroup rw,relatime,freezer 0 0\n"
#define UNIFIED "cgroup /sys/fs/cgroup/unified cgroup2 rw,nsdelegate 0 0\n"
#define V2                                                                                         \
	"proc /proc proc rw 0 0\n"                                                                 \
	"cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"                                       \
	"cgroup2 /mnt/again cgroup2 rw 0 0\n"

static struct world {
	const char *mounts;  /* NULL: /proc is not there */
	int n_open;          /* the same, opened and not closed */
	char dir[64];        /* a group */
	const char *refused; /* its mkdir() fails, with this errno: */
	int refusal;
	char killed[64]; /* pids, in order */
} w;

FILE *setmntent(const char *path, const char *mode)
{
	is_str(path, "/proc/self/mounts");
	if (!w.mounts)
		return NULL;
	w.n_open++;
	return fmemopen((void *)(uintptr_t)w.mounts, strlen(w.mounts), mode);
}

int endmntent(FILE *mounts)
{
	w.n_open--;
	fclose(mounts);
	return 1;
}

int mkdir(const char *path, mode_t mode)
{
	const char *name = strrchr(path, '/');

	if (w.refused && !strcmp(name, w.refused)) {
		errno = w.refusal;
		return -1;
	}
	return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int kill(pid_t pid, int signal)
{
	size_t used = strlen(w.killed);

	is_int(signal, SIGKILL);
	snprintf(w.killed + used, sizeof(w.killed) - used, "%d;", (int)pid);
	return 0;
}

/* ---- mount tables ---- */

static void is_mounted(const char *mounts, const char *type, const char *option, const char *want)
{
	char path[64] = "before";

	w.mounts = mounts;
	is_int(hierarchy_mount(type, option, path, sizeof(path)), want != NULL);
	is_int(w.n_open, 0);
	if (want)
		is_str(path, want);
}

TAP_TEST(hierarchy_mount__first_of_the_type)
{
	is_mounted(V2, "cgroup2", NULL, "/sys/fs/cgroup");
	is_mounted(V1 UNIFIED, "cgroup2", NULL, "/sys/fs/cgroup/unified");
	is_mounted(V1 UNIFIED, "cgroup", NULL, "/sys/fs/cgroup/systemd");
	is_mounted(V2, "cgroup", NULL, NULL);
	is_mounted(V1, "cgroup2", NULL, NULL);
}

TAP_TEST(hierarchy_mount__option)
{
	is_mounted(V1, "cgroup", "freezer", "/sys/fs/cgroup/freezer");
	is_mounted(V1, "cgroup", "cpuacct", "/sys/fs/cgroup/cpu,cpuacct");
	is_mounted(V1, "cgroup", "pids", NULL);
	/* Whole words only. */
	is_mounted(V1, "cgroup", "free", NULL);
	is_mounted(V1, "cgroup", "acct", NULL);
	is_mounted(V1 UNIFIED, "cgroup2", "freezer", NULL);
}

TAP_TEST(hierarchy_mount__path_with_a_blank)
{
	is_mounted("cgroup2 /a\\040place cgroup2 rw 0 0\n", "cgroup2", NULL, "/a place");
}

TAP_TEST(hierarchy_mount__no_table)
{
	is_mounted(NULL, "cgroup2", NULL, NULL);
	is_mounted("\n", "cgroup2", NULL, NULL);
}

TAP_TEST(hierarchy_mount__path_that_does_not_fit)
{
	char path[32];

	w.mounts = V2;
	ok(hierarchy_mount("cgroup2", NULL, path, sizeof("/sys/fs/cgroup") - 1));
	is_str(path, "/mnt/again");
	ok(!hierarchy_mount("cgroup2", NULL, path, sizeof("/mnt/again") - 1));
}

TAP_TEST(hierarchy_root__of_each_form)
{
	static const struct {
		const char *mounts;
		enum cgroup_form form;
		const char *want; /* NULL: there is none */
	} forms[] = {
		{V1, CGROUP_V1, "/sys/fs/cgroup/freezer/score/x"},
		{V1 UNIFIED, CGROUP_V1, "/sys/fs/cgroup/freezer/score/x"},
		{V1 UNIFIED, CGROUP_HYBRID, "/sys/fs/cgroup/unified/score/x"},
		{V2, CGROUP_V2, "/sys/fs/cgroup/score/x"},
		{V1, CGROUP_V2, NULL},
		{V2, CGROUP_V1, NULL},
	};
	char path[64];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		w.mounts = forms[i].mounts;
		is_int(hierarchy_root(forms[i].form, "score/x", path, sizeof(path)),
		       forms[i].want != NULL);
		if (forms[i].want)
			is_str(path, forms[i].want);
	}
	w.mounts = V2;
	ok(hierarchy_root(CGROUP_V2, "score", path, sizeof("/sys/fs/cgroup/score")));
	ok(!hierarchy_root(CGROUP_V2, "score", path, sizeof("/sys/fs/cgroup/score") - 1));
}

/* ---- directories and files ---- */

static void begin(void)
{
	memset(&w, 0, sizeof(w));
	strcpy(w.dir, "/tmp/hierarchy_test.XXXXXX");
	ok(mkdtemp(w.dir) != NULL);
}

/* The path of a file of the group, or of a group below. */
static const char *at(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", w.dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "we");

	must(file);
	fputs(text, file);
	fclose(file);
}

static void finish(const char *const *names)
{
	for (; *names; names++)
		okf(!remove(at(*names)), "%s", *names);
	is_int(rmdir(w.dir), 0);
}

#define FINISH(...) finish((const char *const[]){__VA_ARGS__, NULL})

static bool is_directory(const char *name)
{
	struct stat st;

	return !stat(at(name), &st) && S_ISDIR(st.st_mode);
}

TAP_TEST(hierarchy_make__all_that_is_above)
{
	begin();
	is_int(hierarchy_make(at("a/b/c")), 0);
	ok(is_directory("a/b/c"));
	is_int(hierarchy_make(at("a/b/c")), 0);
	is_int(hierarchy_make(at("a//d/")), 0);
	ok(is_directory("a/d"));
	FINISH("a/b/c", "a/b", "a/d", "a");
}

/* /sys is read-only in some containers, what is mounted in it is not. */
TAP_TEST(hierarchy_make__above_is_not_ours)
{
	static const int refusals[] = {EROFS, EACCES};

	for (int i = 0; i < 2; i++) {
		begin();
		is_int(hierarchy_make(at("a")), 0);
		w.refused = "/a";
		w.refusal = refusals[i];
		is_int(hierarchy_make(at("a/b")), 0);
		ok(is_directory("a/b"));
		/* The group itself is to be ours. */
		w.refused = "/c";
		is_int(hierarchy_make(at("a/c")), -refusals[i]);
		ok(!is_directory("a/c"));
		FINISH("a/b", "a");
	}
}

TAP_TEST(hierarchy_make__above_cannot_be_made)
{
	begin();
	w.refused = "/a";
	w.refusal = ENOSPC;
	is_int(hierarchy_make(at("a/b")), -ENOSPC);
	w.refusal = EACCES;
	is_int(hierarchy_make(at("a/b")), -ENOENT);
	w.refused = NULL;
	put("file", "");
	is_int(hierarchy_make(at("file/b")), -ENOTDIR);
	FINISH("file");
}

static int free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

TAP_TEST(hierarchy_write__files)
{
	int fd = free_fd();
	char text[16];

	begin();
	put("freeze", "");
	is_int(hierarchy_write(at("freeze"), "12"), 0);
	hierarchy_read(at("freeze"), text, sizeof(text));
	is_str(text, "12");
	/* A controller that there is not: nothing is made. */
	is_int(hierarchy_write(at("missing"), "1"), -ENOENT);
	is_int(hierarchy_write(w.dir, "1"), -EISDIR);
	is_int(hierarchy_write("/dev/full", "1"), -ENOSPC);
	is_int(free_fd(), fd);
	FINISH("freeze");
}

TAP_TEST(hierarchy_read__files)
{
	int fd = free_fd();
	char text[6];

	begin();
	put("exact", "12345");
	put("long", "123456");
	put("empty", "");
	hierarchy_read(at("exact"), text, sizeof(text));
	is_str(text, "12345");
	hierarchy_read(at("empty"), text, sizeof(text));
	is_str(text, "");
	hierarchy_read(at("long"), text, sizeof(text));
	is_str(text, "12345");
	hierarchy_read(at("missing"), text, sizeof(text));
	is_str(text, "");
	strcpy(text, "x");
	hierarchy_read(w.dir, text, sizeof(text));
	is_str(text, "");
	is_int(free_fd(), fd);
	FINISH("exact", "long", "empty");
}

/* ---- processes ---- */

static char seen[64];

static bool see(pid_t pid, void *owner)
{
	int *left = owner;
	size_t used = strlen(seen);

	snprintf(seen + used, sizeof(seen) - used, "%d;", (int)pid);
	return --*left > 0;
}

static const char *see_at_most(int n)
{
	seen[0] = '\0';
	hierarchy_each_pid(w.dir, see, &n);
	return seen;
}

TAP_TEST(hierarchy_each_pid__until_it_is_enough)
{
	int fd = free_fd();

	begin();
	is_str(see_at_most(9), "");
	put("cgroup.procs", "");
	is_str(see_at_most(9), "");
	put("cgroup.procs", "30\n10\n20\n");
	is_str(see_at_most(9), "30;10;20;");
	is_str(see_at_most(2), "30;10;");
	is_int(free_fd(), fd);
	FINISH("cgroup.procs");
}

static void are_killed(enum cgroup_form form, const char *want)
{
	w.killed[0] = '\0';
	hierarchy_kill(form, w.dir);
	is_str(w.killed, want);
}

TAP_TEST(hierarchy_kill__one_by_one)
{
	begin();
	are_killed(CGROUP_V1, "");
	put("cgroup.procs", "30\n10\n");
	are_killed(CGROUP_V1, "30;10;");
	/* Before Linux 5.14. */
	are_killed(CGROUP_V2, "30;10;");
	are_killed(CGROUP_HYBRID, "30;10;");
	FINISH("cgroup.procs");
}

/* Signals to 0 would be for ourselves. */
TAP_TEST(hierarchy_kill__process_of_another_namespace)
{
	begin();
	put("cgroup.procs", "0\n30\n");
	are_killed(CGROUP_V2, "30;");
	FINISH("cgroup.procs");
}

TAP_TEST(hierarchy_kill__by_the_kernel)
{
	char text[8];

	begin();
	put("cgroup.procs", "30\n10\n");
	put("cgroup.kill", "");
	are_killed(CGROUP_V2, "");
	hierarchy_read(at("cgroup.kill"), text, sizeof(text));
	is_str(text, "1");
	put("cgroup.kill", "");
	are_killed(CGROUP_HYBRID, "");
	hierarchy_read(at("cgroup.kill"), text, sizeof(text));
	is_str(text, "1");
	FINISH("cgroup.procs", "cgroup.kill");
}

TAP_TEST(hierarchy_is_empty__v1)
{
	begin();
	ok(hierarchy_is_empty(CGROUP_V1, w.dir));
	put("cgroup.procs", "");
	ok(hierarchy_is_empty(CGROUP_V1, w.dir));
	put("cgroup.procs", "10\n");
	ok(!hierarchy_is_empty(CGROUP_V1, w.dir));
	/* That file is of v2. */
	put("cgroup.events", "populated 0\n");
	ok(!hierarchy_is_empty(CGROUP_V1, w.dir));
	FINISH("cgroup.procs", "cgroup.events");
}

/* Processes that are about to end are not listed. */
TAP_TEST(hierarchy_is_empty__v2)
{
	static const enum cgroup_form forms[] = {CGROUP_V2, CGROUP_HYBRID};

	for (int i = 0; i < 2; i++) {
		begin();
		ok(hierarchy_is_empty(forms[i], w.dir));
		put("cgroup.procs", "");
		put("cgroup.events", "populated 1\nfrozen 0\n");
		ok(!hierarchy_is_empty(forms[i], w.dir));
		put("cgroup.events", "frozen 1\npopulated 0\n");
		ok(hierarchy_is_empty(forms[i], w.dir));
		FINISH("cgroup.procs", "cgroup.events");
	}
}
