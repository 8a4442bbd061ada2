// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "pmcore/util/owndir.h"
#include "scheduler/proto/daemon.h"
#include "scheduler/scnoded/store/place.h"

#define MEBI (1024.0 * 1024)

/* Takes the descriptor, which may be an error. */
static int done(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void index_name(const struct store_place *place, char ret[PLACE_NAME_MAX])
{
	snprintf(ret, PLACE_NAME_MAX, "%u", place->index);
}

/* ---- to begin ---- */

static char *check_room(const struct store_place *place, uint64_t bytes)
{
	struct statvfs fs;
	uint64_t room;

	if (statvfs(place->directory, &fs))
		return place_complaint(place, "its file system", errno);
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (room >= bytes)
		return NULL;
	return daemon_text("images of job %" PRIu64 " in %s: they need some %.0f MiB, and %.0f MiB "
			   "are free; make room on that file system, or choose another directory "
			   "with --checkpoints of scnoded",
			   place->job, place->directory, (double)bytes / MEBI, (double)room / MEBI);
}

/* The directory above, where it is ours to make. */
static char *make_all(const struct store_place *place)
{
	char why[512], above[PATH_MAX];

	/* A package makes that; an error is told of the directory itself. */
	snprintf(above, sizeof(above), "%s", place->directory);
	mkdir(dirname(above), 0755);
	if (owndir_open(place->directory, 0700, "directory of checkpoints",
			"--checkpoints of scnoded", why, sizeof(why)))
		return daemon_text("%s", why);
	return NULL;
}

/* 0 or -errno. */
static int make(const struct store_place *place, const char *host)
{
	int parent = place_open_round(place, false, true), fd, err;
	char name[PLACE_NAME_MAX];

	if (parent < 0)
		return parent;
	index_name(place, name);
	err = place_remove(parent, name);
	if (!err && mkdirat(parent, name, 0700))
		err = -errno;
	close(parent);
	if (err)
		return err;
	fd = place_open(place, false);
	if (fd < 0)
		return fd;
	err = place_write(fd, PLACE_WRITER, host);
	close(fd);
	return err;
}

char *store_begin(const struct store_place *place, const char *host, uint64_t bytes)
{
	char *text = make_all(place);
	int err = 0;

	if (!text)
		text = check_room(place, bytes);
	if (!text && !done(place_open(place, true)))
		text = place_complaint(place, "they are committed already", EEXIST);
	if (!text)
		err = make(place, host);
	return err ? place_complaint(place, "their directory can't be made", err) : text;
}

int store_open(const struct store_place *place, bool is_committed)
{
	return place_open(place, is_committed);
}

/* ---- to commit ---- */

/* 0 or -errno; on disk. */
static int rename_place(const struct store_place *place)
{
	int from = place_open_round(place, false, false), to, err = 0;
	char name[PLACE_NAME_MAX];

	if (from < 0)
		return from;
	to = place_open_round(place, true, true);
	if (to < 0) {
		close(from);
		return to;
	}
	index_name(place, name);
	if (renameat(from, name, to, name) || fsync(to) || fsync(from))
		err = -errno;
	close(from);
	close(to);
	return err;
}

static int sync_job(const struct store_place *place)
{
	int fd = place_open_job(place, false), err = fd;

	if (fd < 0)
		return err;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	if (err)
		return err;
	fd = place_open_all(place);
	if (fd < 0)
		return fd;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

struct old {
	const struct store_place *place;
	uint64_t keep;
};

static int remove_old(int fd, const char *name, void *owner)
{
	const struct old *old = owner;
	struct store_place place = *old->place;
	char index[PLACE_NAME_MAX];
	bool is_committed;
	int parent, err = 0;

	(void)fd;
	place.round = place_round(name, &is_committed);
	if (!place.round || place.round >= (is_committed ? old->keep : old->place->round))
		return 0;
	index_name(&place, index);
	parent = place_open_round(&place, is_committed, false);
	if (parent >= 0) {
		err = place_remove(parent, index);
		close(parent);
	}
	place_prune(&place, is_committed);
	return err;
}

char *store_commit(const struct store_place *place, uint64_t keep)
{
	struct old old = {place, keep};
	int err = done(place_open(place, true)) ? rename_place(place) : 0, fd;

	if (!err)
		err = sync_job(place);
	if (err)
		return place_complaint(place, "they can't be committed", err);
	place_prune(place, false);
	fd = place_open_job(place, false);
	err = fd < 0 ? fd : place_each(fd, remove_old, &old);
	if (fd >= 0)
		close(fd);
	return err ? place_complaint(place, "older ones can't be removed", err) : NULL;
}

/* ---- to remove ---- */

char *store_abandon(const struct store_place *place)
{
	int parent = place_open_round(place, false, false), err;
	char name[PLACE_NAME_MAX];

	if (parent == -ENOENT)
		return NULL;
	index_name(place, name);
	err = parent < 0 ? parent : place_remove(parent, name);
	if (parent >= 0)
		close(parent);
	place_prune(place, false);
	return err ? place_complaint(place, "they can't be removed", err) : NULL;
}

/* What is to be removed of whom. */
struct sweep {
	struct store_place place;
	const char *host;
	bool is_all; /* what is committed as well */
	bool is_committed;
	int error;
};

static int sweep_index(int fd, const char *name, void *owner)
{
	struct sweep *sweep = owner;
	int index = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;

	/* One without a writer was begun, and no more. It may be another host's this moment. */
	if (index < 0)
		return 0;
	if (place_is_of(index, sweep->host))
		err = place_remove(fd, name);
	close(index);
	if (err)
		sweep->error = err;
	return 0;
}

static int sweep_round(int fd, const char *name, void *owner)
{
	struct sweep *sweep = owner;
	int round;

	(void)fd;
	sweep->place.round = place_round(name, &sweep->is_committed);
	if (!sweep->place.round || (sweep->is_committed && !sweep->is_all))
		return 0;
	round = place_open_round(&sweep->place, sweep->is_committed, false);
	if (round < 0)
		return 0;
	place_each(round, sweep_index, sweep);
	close(round);
	place_prune(&sweep->place, sweep->is_committed);
	return 0;
}

static void sweep_job(struct sweep *sweep)
{
	int fd = place_open_job(&sweep->place, false);

	if (fd < 0)
		return;
	place_each(fd, sweep_round, sweep);
	close(fd);
	/* One that was empty before. */
	sweep->place.round = 0;
	place_prune(&sweep->place, true);
}

char *store_remove(const char *directory, uint64_t job, const char *host)
{
	struct sweep sweep = {
		.place = {.directory = directory, .job = job}, .host = host, .is_all = true};

	sweep_job(&sweep);
	return sweep.error ? place_complaint(&sweep.place, "they can't be removed", sweep.error)
			   : NULL;
}

static int clean_job(int fd, const char *name, void *owner)
{
	struct sweep *sweep = owner;
	bool is_job;

	(void)fd;
	sweep->place.job = place_round(name, &is_job);
	if (sweep->place.job && is_job)
		sweep_job(sweep);
	return 0;
}

void store_clean(const char *directory, const char *host)
{
	struct sweep sweep = {.place = {.directory = directory}, .host = host};
	int fd = place_open_all(&sweep.place);

	if (fd < 0)
		return;
	place_each(fd, clean_job, &sweep);
	close(fd);
}
