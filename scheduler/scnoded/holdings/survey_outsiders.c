// SPDX-License-Identifier: BSD-3-Clause
/*
 * A pipe does not tell who has its other end. So if the tree holds one end only, all other
 * processes of the host are asked; most jobs have no such pipe, and then none is.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/inodes.h"
#include "scheduler/scnoded/holdings/survey_inside.h"

#define DESCRIPTORS_MAX 1000000 /* of other processes */

struct half {
	uint64_t inode;
	bool can_read, can_write;
};

struct search {
	struct survey *survey;
	struct inodes pipes, sockets;
	bool is_named_wanted; /* one of the pipes has a path */
	size_t n_descriptors;
};

static int compare_halves(const void *a, const void *b)
{
	const struct half *left = a, *right = b;

	return (left->inode > right->inode) - (left->inode < right->inode);
}

/* All pipes of the tree: each descriptor is an entry, and those of one pipe lie together. */
static size_t list_ends(const struct holdings *h, struct half *list)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_files; i++) {
		const struct held_file *file = &h->files[i];
		uint32_t access = file->flags & O_ACCMODE;

		if (!S_ISFIFO(file->mode))
			continue;
		list[n++] = (struct half){.inode = file->inode,
					  .can_read = access != O_WRONLY,
					  .can_write = access != O_RDONLY};
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_halves);
	return n;
}

static bool collect_pipes(const struct holdings *h, struct inodes *ret)
{
	struct half *list = calloc(h->n_files + 1, sizeof(*list));
	size_t n = list ? list_ends(h, list) : 0;
	bool is_done = list != NULL;

	for (size_t i = 0; i < n && is_done;) {
		struct half whole = list[i];

		for (; i < n && list[i].inode == whole.inode; i++) {
			whole.can_read |= list[i].can_read;
			whole.can_write |= list[i].can_write;
		}
		if (!whole.can_read || !whole.can_write)
			is_done = inodes_add(ret, whole.inode);
	}
	free(list);
	inodes_sort(ret);
	return is_done;
}

/* Peers of unix sockets that the tree does not hold. */
static bool collect_peers(const struct holdings *h, struct inodes *ret)
{
	for (size_t i = 0; i < h->n_sockets; i++) {
		const struct held_socket *socket = &h->sockets[i];

		if (socket->kind == HELD_UNIX && socket->peer &&
		    !holdings_socket(h, socket->peer) && !inodes_add(ret, socket->peer))
			return false;
	}
	inodes_sort(ret);
	return true;
}

/* False: there is trouble. */
static bool add_outsider(struct search *search, pid_t pid, uint64_t inode)
{
	struct held_outsider *outsider;
	struct procline_stat stat;
	char line[1024];

	/* A young child of the job inherits its pipes. */
	if (survey_is_below(search->survey->holdings, pid))
		return true;
	outsider = holdings_add_outsider(search->survey->holdings);
	if (!outsider)
		return false;
	outsider->pid = pid;
	outsider->inode = inode;
	if (survey_read(pid, "stat", line, sizeof(line)) && procline_stat(line, &stat))
		memcpy(outsider->name, stat.name, sizeof(outsider->name));
	return true;
}

static bool look_at(struct search *search, pid_t pid, int directory, const char *fd)
{
	char name[PATH_MAX + 1];
	ssize_t n = readlinkat(directory, fd, name, sizeof(name) - 1);
	struct statx st;
	uint64_t inode;

	if (n < 0)
		return true;
	name[n] = 0;
	if ((inode = procline_inode(name, "socket")))
		return !inodes_has(&search->sockets, inode) || add_outsider(search, pid, inode);
	/* A named pipe shows its path. */
	if (!(inode = procline_inode(name, "pipe"))) {
		if (*name != '/' || !search->is_named_wanted ||
		    statx(directory, fd, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
			  STATX_TYPE | STATX_INO, &st) ||
		    !S_ISFIFO(st.stx_mode))
			return true;
		inode = st.stx_ino;
	}
	return !inodes_has(&search->pipes, inode) || add_outsider(search, pid, inode);
}

static bool look_at_process(struct search *search, pid_t pid)
{
	const struct dirent *entry;
	bool goes_on = true;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && goes_on && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		if (++search->n_descriptors > DESCRIPTORS_MAX)
			holdings_trouble(
				search->survey->holdings,
				"other processes have more than %d descriptors, in which "
				"the other ends of its pipes are looked for; close the pipes to "
				"processes outside the job",
				DESCRIPTORS_MAX);
		goes_on = survey_goes_on(search->survey) &&
			  look_at(search, pid, dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
	return goes_on;
}

static void look_at_all(struct search *search)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) && survey_goes_on(search->survey))
		if (isdigit((unsigned char)*entry->d_name) &&
		    !holdings_has(search->survey->holdings, atoi(entry->d_name)) &&
		    !look_at_process(search, atoi(entry->d_name)))
			break;
	if (dir)
		closedir(dir);
}

static bool has_named(const struct holdings *h, const struct inodes *pipes)
{
	for (size_t i = 0; i < h->n_files; i++)
		if (S_ISFIFO(h->files[i].mode) && *h->files[i].name == '/' &&
		    inodes_has(pipes, h->files[i].inode))
			return true;
	return false;
}

void survey_outsiders(struct survey *s)
{
	struct search search = {.survey = s};

	if (!collect_pipes(s->holdings, &search.pipes) ||
	    !collect_peers(s->holdings, &search.sockets))
		holdings_trouble(s->holdings,
				 "scnoded has no memory for a list of pipes; " HOLDINGS_FREE);
	search.is_named_wanted = has_named(s->holdings, &search.pipes);
	if (search.pipes.n || search.sockets.n)
		look_at_all(&search);
	inodes_free(&search.pipes);
	inodes_free(&search.sockets);
	holdings_sort(s->holdings);
}
