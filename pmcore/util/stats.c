// SPDX-License-Identifier: BSD-3-Clause
/*
 * stats - the counter files /dev/shm/openscore-stat.UID.PID.N. A file lives as long as its writer
 * holds a lock on it, which the kernel drops however the process ends. Readers trust nothing:
 * anyone may put files there, so a file is read into private memory, never mapped, and only if it
 * is a regular one of the user its name says. Refuses to know what the counters mean.
 *
 * A job with a pid namespace and a /dev/shm of its own finds that of the host at $PM_STATS. Its
 * files are named openscore-stat.UID.PID.N@NAMESPACE there, as PID is another process outside.
 */
#include "pmcore/util/stats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/filesize.h"
#include "pmcore/util/forked.h"
#include "pmcore/util/pidns.h"

#define DIRECTORY "/dev/shm"
#define PREFIX "openscore-stat."
#define NAME_SIZE 80
#define SWEEP_MAX 1024 /* files opened by one sweep; the next context takes away more */

struct stats {
	struct stats_page *page;
	int fd; /* holds the lock; -1 when the page is private memory */
	char path[PATH_MAX];
};

#define DROP_NAME(name, text) [DROP_##name] = text,
static const char *const drop_names[DROP_REASONS] = {[DROP_NONE] = "none", DROP_LIST(DROP_NAME)};
#undef DROP_NAME

const char *stats_drop_name(enum drop_reason reason)
{
	return (unsigned int)reason < DROP_REASONS ? drop_names[reason] : "unknown";
}

/* The owner of a file, as its name tells. */
struct owner {
	uint32_t uid;
	uint32_t pid;
	uint64_t ns; /* pid namespace in which it has that number; 0: the host's */
};

static const char *directory(void)
{
	const char *said = secure_getenv(STATS_VARIABLE);

	return said && *said == '/' ? said : DIRECTORY;
}

/* As struct owner says it. */
static uint64_t own_namespace(void)
{
	return secure_getenv(STATS_VARIABLE) ? pidns_self() : 0;
}

static void make_name(const struct owner *owner, unsigned int number, char *name, size_t size)
{
	int n = snprintf(name, size, PREFIX "%u.%u.%u", owner->uid, owner->pid, number);

	if (owner->ns && n > 0 && (size_t)n < size)
		snprintf(name + n, size - (size_t)n, "@%" PRIu64, owner->ns);
}

/* Whether @name is one of ours in form; then its parts. */
static bool parse_name(const char *name, struct owner *ret)
{
	struct owner owner = {0};
	unsigned int number;
	char again[NAME_SIZE];

	if (sscanf(name, PREFIX "%u.%u.%u@%" SCNu64, &owner.uid, &owner.pid, &number, &owner.ns) <
	    3)
		return false;
	/* Only the one spelling we make: no signs, spaces, leading zeros or tails. */
	make_name(&owner, number, again, sizeof(again));
	if (strcmp(again, name))
		return false;
	*ret = owner;
	return true;
}

/* F_OFD_SETLK takes the writer's lock, F_OFD_GETLK asks whether someone holds it. */
static int lock_file(int fd, int command, struct flock *ret_lock)
{
	*ret_lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (command == F_OFD_GETLK)
		ret_lock->l_type = F_RDLCK;
	return fcntl(fd, command, ret_lock) < 0 ? -errno : 0;
}

/* Opens a file of the directory that is regular and belongs to whom its name says; -errno. */
static int open_checked(int dir, const char *name, int flags, struct owner *ret_owner)
{
	struct stat st;
	int fd;

	if (!parse_name(name, ret_owner))
		return -EINVAL;
	/* O_NONBLOCK: a FIFO of that name must not hold us up */
	fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == ret_owner->uid &&
	    st.st_nlink == 1)
		return fd;
	close(fd);
	return -EPERM;
}

/* Removes the file if it is our user's and nobody holds its lock. */
static void sweep_one(int dir, const char *name)
{
	struct owner owner;
	struct flock lock;
	struct stat st;
	int fd;

	fd = open_checked(dir, name, O_RDWR, &owner);
	if (fd < 0)
		return;
	/*
	 * A new file is not locked for a moment. Its maker then finds our lock, or the file gone,
	 * and takes another name. Only the holder of the lock unlinks, so a file that still has its
	 * name under our lock is the file which that name leads to. Another sweeper may have been
	 * faster, and the name be in use anew.
	 */
	if (lock_file(fd, F_OFD_SETLK, &lock) == 0 && fstat(fd, &st) == 0 && st.st_nlink)
		unlinkat(dir, name, 0);
	close(fd);
}

static void sweep(void)
{
	DIR *dir = opendir(directory());
	struct dirent *entry;
	char ours[48];
	size_t length;
	int n = 0;

	if (!dir)
		return; /* stats_create finds out the same and falls back */
	/* Strangers may have put any number of files there: theirs cost a comparison. */
	length = (size_t)snprintf(ours, sizeof(ours), PREFIX "%u.", (unsigned int)geteuid());
	while (n < SWEEP_MAX && (entry = readdir(dir)))
		if (strncmp(entry->d_name, ours, length) == 0) {
			sweep_one(dirfd(dir), entry->d_name);
			n++;
		}
	closedir(dir);
}

/* Gives the new file its lock and size and maps it; -errno. */
static int map_file(struct stats *stats)
{
	struct flock lock;
	struct stat st;
	void *map;
	int rc;

	rc = lock_file(stats->fd, F_OFD_SETLK, &lock);
	if (rc)
		return rc;
	if (fstat(stats->fd, &st) < 0)
		return -errno;
	if (!st.st_nlink)
		return -EAGAIN; /* swept before it was locked */
	rc = filesize_check(sizeof(struct stats_page));
	if (!rc)
		rc = forked_close(stats->fd);
	if (rc)
		return rc;
	/* Allocated now: a full file system must not kill us by SIGBUS later. */
	rc = posix_fallocate(stats->fd, 0, sizeof(struct stats_page));
	if (rc)
		return -rc;
	map = mmap(NULL, sizeof(struct stats_page), PROT_READ | PROT_WRITE, MAP_SHARED, stats->fd,
		   0);
	if (map == MAP_FAILED)
		return -errno;
	/* a child's mapping would hold our lock as its descriptor would */
	if (madvise(map, sizeof(struct stats_page), MADV_DONTFORK)) {
		munmap(map, sizeof(struct stats_page));
		return -ENOMEM;
	}
	stats->page = map;
	return 0;
}

static void discard_file(struct stats *stats)
{
	unlink(stats->path);
	forked_keep(stats->fd);
	close(stats->fd);
	stats->fd = -1;
}

/* Tries one name. 0, -EAGAIN: try the next one, or another -errno: no file can be made. */
static int make_file(struct stats *stats, unsigned int n)
{
	const struct owner us = {
		.uid = geteuid(), .pid = (uint32_t)getpid(), .ns = own_namespace()};
	char name[NAME_SIZE];
	int rc;

	make_name(&us, n, name, sizeof(name));
	if (snprintf(stats->path, sizeof(stats->path), "%s/%s", directory(), name) >=
	    (int)sizeof(stats->path))
		return -ENAMETOOLONG;
	stats->fd = open(stats->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (stats->fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	rc = map_file(stats);
	if (rc == -EAGAIN || rc == -EACCES) {
		close(stats->fd); /* the sweeper removes it */
		stats->fd = -1;
		return -EAGAIN;
	}
	if (rc)
		discard_file(stats);
	return rc;
}

/* In private memory. */
static int make_private(struct stats *stats)
{
	stats->fd = -1;
	stats->page = calloc(1, sizeof(*stats->page));
	return stats->page ? 0 : -ENOMEM;
}

static int make_page(struct stats *stats)
{
	unsigned int n;
	int rc = -EAGAIN;

	sweep();
	stats->fd = -1;
	for (n = 0; n < STATS_CONTEXTS && rc == -EAGAIN; n++)
		rc = make_file(stats, n);
	return rc == 0 ? 0 : make_private(stats);
}

static int create(uint32_t node, int (*make)(struct stats *stats), struct stats **ret_stats)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	struct stats_page *page;
	int rc;

	if (!stats)
		return -ENOMEM;
	rc = make(stats);
	if (rc) {
		free(stats);
		return rc;
	}
	page = stats->page;
	page->size = sizeof(*page);
	page->pid = (uint32_t)getpid();
	page->uid = geteuid();
	page->node = node;
	snprintf(page->program, sizeof(page->program), "%s", program_invocation_short_name);
	/* Last: a reader that sees the magic sees the rest. */
	__atomic_store_n(&page->magic, STATS_MAGIC, __ATOMIC_RELEASE);
	*ret_stats = stats;
	return 0;
}

int stats_create(uint32_t node, struct stats **ret_stats)
{
	return create(node, make_page, ret_stats);
}

int stats_create_private(uint32_t node, struct stats **ret_stats)
{
	return create(node, make_private, ret_stats);
}

struct stats_page *stats_page(struct stats *stats)
{
	return stats->page;
}

void stats_destroy(struct stats *stats)
{
	if (!stats)
		return;
	if (stats->fd < 0) {
		free(stats->page);
	} else {
		munmap(stats->page, sizeof(*stats->page));
		discard_file(stats);
	}
	free(stats);
}

/* Makes a text of a stranger harmless to a terminal. */
static void clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Lets through what a reader may use without further checks. */
static bool check_page(struct stats_page *page, const struct owner *owner)
{
	int i;

	if (page->magic != STATS_MAGIC || page->size != sizeof(*page))
		return false;
	if (page->n_links > STATS_LINKS || page->n_rails > STATS_RAILS)
		return false;
	for (i = 0; i < STATS_LINKS; i++) {
		const struct stats_link *link = &page->links[i];

		if (link->first_rail > page->n_rails ||
		    link->n_rails > page->n_rails - link->first_rail)
			return false;
	}
	page->uid = owner->uid;
	page->pid = owner->pid;
	clean_text(page->program, sizeof(page->program));
	for (i = 0; i < STATS_LINKS; i++)
		clean_text(page->links[i].name, sizeof(page->links[i].name));
	for (i = 0; i < STATS_RAILS; i++)
		clean_text(page->rails[i].name, sizeof(page->rails[i].name));
	return true;
}

/* Whether it is the file of a live context; then its contents. */
static bool read_live(int dir, const char *name, struct stats_page *ret_page)
{
	struct owner owner;
	struct flock lock;
	bool is_good;
	int fd;

	fd = open_checked(dir, name, O_RDONLY, &owner);
	if (fd < 0)
		return false;
	is_good = lock_file(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK &&
		  pread(fd, ret_page, sizeof(*ret_page), 0) == (ssize_t)sizeof(*ret_page) &&
		  check_page(ret_page, &owner);
	close(fd);
	return is_good;
}

int stats_read(uint32_t uid, uint64_t ns, uint32_t pid, unsigned int number,
	       struct stats_page *ret_page)
{
	const struct owner owner = {.uid = uid, .pid = pid, .ns = ns};
	char name[NAME_SIZE];
	struct stat st;
	int dir, rc = 0;

	dir = open(directory(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	make_name(&owner, number, name, sizeof(name));
	/* Looked at first: a stranger's file is not even opened. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		rc = -errno;
	else if (st.st_uid != uid)
		rc = -EPERM;
	else if (!read_live(dir, name, ret_page))
		rc = -ESTALE;
	close(dir);
	return rc;
}

/* One call of stats_visit(). */
struct visit {
	uint64_t ns; /* ours, as in struct owner */
	struct pidns_table processes;
	bool is_scanned;
};

/* The number by which the reader knows the process; 0: by none. */
static uint32_t number_here(struct visit *visit, const struct owner *owner)
{
	if (owner->ns == visit->ns)
		return owner->pid;
	/* From inside a namespace no process outside is seen. */
	if (visit->ns)
		return 0;
	/* Only where a job has a namespace all processes are looked at, once. */
	if (!visit->is_scanned)
		pidns_add_all(&visit->processes);
	visit->is_scanned = true;
	return (uint32_t)pidns_find(&visit->processes, owner->ns, (pid_t)owner->pid);
}

int stats_visit(uint32_t pid, int (*fn)(void *arg, const struct stats_page *page), void *arg)
{
	struct visit visit = {.ns = own_namespace()};
	struct stats_page page;
	struct dirent *entry;
	struct owner owner;
	int visited = 0, rc = 0;
	DIR *dir;

	dir = opendir(directory());
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (rc >= 0 && (entry = readdir(dir))) {
		if (!parse_name(entry->d_name, &owner) ||
		    (pid && owner.ns == visit.ns && owner.pid != pid) ||
		    !read_live(dirfd(dir), entry->d_name, &page))
			continue;
		page.pid = number_here(&visit, &owner);
		if (!page.pid || (pid && page.pid != pid))
			continue;
		rc = fn(arg, &page);
		visited++;
	}
	closedir(dir);
	pidns_fini(&visit.processes);
	return rc < 0 ? rc : visited;
}
