// SPDX-License-Identifier: BSD-3-Clause
/* store_commit - the rename that keeps images, and the end of those that are older. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

static bool is_there(int fd, const char *name)
{
	return fd >= 0 && !faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* The commit is on the disk when each directory that has changed is. */
static int sync_all(const struct store_dirs *dirs)
{
	if (fsync(dirs->round) || (dirs->fresh >= 0 && fsync(dirs->fresh)) || fsync(dirs->job) ||
	    fsync(dirs->top))
		return -errno;
	return 0;
}

static bool is_sealed(int fresh, const char *index)
{
	int fd = store_below(fresh, index);
	bool is = is_there(fd, HOSTFILE_NAME);

	if (fd >= 0)
		close(fd);
	return is;
}

/* -ENODATA: nothing to commit. -ENOENT: another host has just removed ROUND, which was empty. */
static int move(const struct store_dirs *dirs, const char *index)
{
	if (!is_there(dirs->fresh, index))
		return is_there(dirs->round, index) ? 0 : -ENODATA;
	if (!is_sealed(dirs->fresh, index))
		return -ENODATA;
	if (renameat(dirs->fresh, index, dirs->round, index))
		return -errno;
	return 0;
}

/* *@ret_host: the writer, "" if there is none. */
static int commit_once(const struct store_place *place, char *ret_host)
{
	struct store_names names;
	struct store_dirs dirs;
	int err = store_dirs_open(&dirs, place, STORE_MAKE_ROUND);

	if (err)
		return err;
	store_name(place, &names);
	err = move(&dirs, names.index);
	if (!err)
		err = sync_all(&dirs);
	if (!err)
		store_writer(dirs.round, names.index, ret_host);
	store_drop_empty(&dirs, &names);
	store_dirs_close(&dirs);
	return err;
}

static int sweep(const struct store_place *place, const char *host, uint64_t keep)
{
	const struct store_sweep sweep = {.host = host,
					  .has_index = true,
					  .index = place->index,
					  .keep = keep < place->round ? keep : place->round,
					  .newest_fresh = place->round};
	struct store_names names;
	int err, top = store_top(place->directory);

	if (top < 0)
		return top;
	store_name(place, &names);
	err = store_sweep(top, names.job, &sweep);
	close(top);
	return err;
}

char *store_commit(const struct store_place *place, uint64_t keep)
{
	char host[HOSTFILE_TEXT_MAX] = "";
	int err = -ENOENT;

	for (int i = 0; err == -ENOENT && i < STORE_TRIES; i++)
		err = commit_once(place, host);
	if (err == -ENODATA)
		return store_wrong(
			place, NULL,
			"there are no images of host %u of the job with a %s, so the dump "
			"did not end; take another checkpoint",
			place->index, HOSTFILE_NAME);
	if (err)
		return store_failed(place, NULL, -err,
				    "the images of host %u of the job cannot be kept",
				    place->index);
	err = sweep(place, host, keep);
	return err ? store_failed(place, host[0] ? host : NULL, -err,
				  "it is kept, but older ones cannot be removed")
		   : NULL;
}
