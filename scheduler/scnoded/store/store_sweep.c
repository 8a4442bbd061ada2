// SPDX-License-Identifier: BSD-3-Clause
/*
 * store_sweep - goes through all rounds of a job, and removes what is to go. A committed one is
 * moved back to ROUND.new first: a crash must not leave half of it in ROUND.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

/* One directory of rounds, in the job's. */
struct round {
	int job;
	int fd; /* -errno: it could not be opened */
	uint64_t number;
	bool is_fresh;
};

static bool is_wanted(const struct store_sweep *sweep, const struct round *round)
{
	return round->is_fresh ? round->number <= sweep->newest_fresh : round->number < sweep->keep;
}

static bool is_ours(const struct store_sweep *sweep, const struct round *round, const char *name)
{
	char writer[HOSTFILE_TEXT_MAX];
	const char *rest;
	uint64_t index;

	if (!store_number(name, &index, &rest))
		return false;
	if (rest[0] == '.')
		return round->is_fresh && !strcmp(rest + 1, sweep->host);
	if (rest[0])
		return false;
	if (sweep->has_index && index == sweep->index)
		return true;
	/* A removal was cut short; nobody is about to fill this one. */
	if (store_writer(round->fd, name, writer) == -ENOENT)
		unlinkat(round->fd, name, AT_REMOVEDIR);
	return writer[0] && !strcmp(writer, sweep->host);
}

/* From ROUND to ROUND.new, of which *@ret is a descriptor then. */
static int take_back(const struct round *round, const char *name, int *ret)
{
	char fresh[32];
	int err = 0;

	snprintf(fresh, sizeof(fresh), "%llu.new", (unsigned long long)round->number);
	if (mkdirat(round->job, fresh, 0700) && errno != EEXIST)
		return -errno;
	*ret = store_below(round->job, fresh);
	if (*ret < 0)
		return *ret;
	err = store_drop(*ret, name);
	if (!err && renameat(round->fd, name, *ret, name))
		err = -errno;
	if (!err && (fsync(*ret) || fsync(round->fd)))
		err = -errno;
	if (err)
		close(*ret);
	return err;
}

static int drop_committed(const struct round *round, const char *name)
{
	char fresh[32];
	int fd, err = -ENOENT;

	/* Missing is what another host has just removed: the images, or ROUND.new. */
	for (int i = 0; err == -ENOENT && i < STORE_TRIES; i++) {
		if (faccessat(round->fd, name, F_OK, AT_SYMLINK_NOFOLLOW))
			return errno == ENOENT ? 0 : -errno;
		err = take_back(round, name, &fd);
	}
	if (err)
		return err;
	err = store_drop(fd, name);
	close(fd);
	snprintf(fresh, sizeof(fresh), "%llu.new", (unsigned long long)round->number);
	unlinkat(round->job, fresh, AT_REMOVEDIR);
	return err;
}

static int sweep_round(const struct store_sweep *sweep, const struct round *round)
{
	int fd = store_below(round->fd, "."), err = 0;
	DIR *dir = fd < 0 ? NULL : store_list(fd);
	const char *name;

	if (!dir)
		return fd < 0 ? fd : -errno;
	while ((name = store_next(dir))) {
		int failed = 0;

		if (is_ours(sweep, round, name))
			failed = round->is_fresh ? store_drop(round->fd, name)
						 : drop_committed(round, name);
		if (!err)
			err = failed;
	}
	closedir(dir);
	return err;
}

static int sweep_name(const struct store_sweep *sweep, int job, const char *name)
{
	struct round round = {.job = job};
	const char *rest;
	int err = 0;

	if (!store_number(name, &round.number, &rest) || (rest[0] && strcmp(rest, ".new")))
		return 0;
	round.is_fresh = rest[0];
	if (is_wanted(sweep, &round)) {
		round.fd = store_below(job, name);
		if (round.fd < 0)
			return round.fd == -ENOENT ? 0 : round.fd;
		err = sweep_round(sweep, &round);
		close(round.fd);
	}
	/* If it is empty. */
	unlinkat(job, name, AT_REMOVEDIR);
	return err;
}

int store_sweep(int top, const char *job, const struct store_sweep *sweep)
{
	int fd = store_below(top, job), err = 0;
	DIR *dir;
	const char *name;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	dir = store_list(fd);
	if (!dir)
		return -errno;
	while ((name = store_next(dir))) {
		int failed = sweep_name(sweep, dirfd(dir), name);

		if (!err)
			err = failed;
	}
	closedir(dir);
	unlinkat(top, job, AT_REMOVEDIR);
	return err;
}
