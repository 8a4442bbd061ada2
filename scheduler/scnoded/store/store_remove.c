// SPDX-License-Identifier: BSD-3-Clause
/* store_remove - the end of images that nobody needs. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

char *store_abandon(const struct store_place *place)
{
	struct store_names names;
	struct store_dirs dirs;
	int err = store_dirs_open(&dirs, place, STORE_MAKE_NONE);

	if (err == -ENOENT)
		return NULL;
	if (!err) {
		store_name(place, &names);
		err = store_drop_fresh(&dirs, &names);
		store_drop_empty(&dirs, &names);
		store_dirs_close(&dirs);
	}
	return err ? store_failed(place, NULL, -err,
				  "the images of host %u of the job cannot be removed",
				  place->index)
		   : NULL;
}

char *store_remove(const char *directory, uint64_t job, const char *host)
{
	const struct store_place place = {.directory = directory, .job = job};
	const struct store_sweep sweep = {
		.host = host, .keep = UINT64_MAX, .newest_fresh = UINT64_MAX};
	struct store_names names;
	int top = store_top(directory), err = top < 0 ? top : 0;

	if (err == -ENOENT)
		return NULL;
	store_name(&place, &names);
	if (!err) {
		err = store_sweep(top, names.job, &sweep);
		close(top);
	}
	return err ? store_failed(&place, host, -err, "they cannot be removed") : NULL;
}

/* A tree that cannot be removed now is tried again at the next start, and by the next dump. */
void store_clean(const char *directory, const char *host)
{
	const struct store_sweep sweep = {.host = host, .newest_fresh = UINT64_MAX};
	int top = store_top(directory), fd = top < 0 ? top : store_below(top, ".");
	DIR *dir = fd < 0 ? NULL : store_list(fd);
	const char *name, *rest;
	uint64_t job;

	while (dir && (name = store_next(dir)))
		if (store_number(name, &job, &rest) && !rest[0])
			store_sweep(top, name, &sweep);
	if (dir)
		closedir(dir);
	if (top >= 0)
		close(top);
}
