// SPDX-License-Identifier: BSD-3-Clause
/* store_verify - whether committed images are what was sealed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

#define DESCRIPTION_MAX (256 << 20) /* bytes of host.json, of a million files about */
#define OLDER "restart from an older checkpoint"

static char *load(const struct store_place *place, int fd, json_t **ret)
{
	int file = store_file(fd, HOSTFILE_NAME), err = file < 0 ? -file : 0;
	json_error_t error = {.text = ""};
	struct stat st;

	if (err)
		return store_failed(place, NULL, err, "%s cannot be opened", HOSTFILE_NAME);
	if (fstat(file, &st) || st.st_size > DESCRIPTION_MAX)
		snprintf(error.text, sizeof(error.text), "it is too large");
	else
		*ret = json_loadfd(file, JSON_REJECT_DUPLICATES, &error);
	close(file);
	return *ret ? NULL
		    : store_wrong(place, NULL, "%s is damaged: %s; " OLDER, HOSTFILE_NAME,
				  error.text);
}

static char *read_description(const struct store_place *place, int fd, struct hostfile *ret)
{
	json_t *json = NULL;
	char why[512], *text = load(place, fd, &json);

	if (text)
		return text;
	if (hostfile_decode(ret, json, why, sizeof(why)))
		text = store_wrong(place, NULL, "%s; " OLDER, why);
	json_decref(json);
	if (text ||
	    (ret->job == place->job && ret->round == place->round && ret->index == place->index))
		return text;
	text = store_wrong(place, ret->host,
			   "%s is that of checkpoint %llu of job %llu, host %u of it; move the "
			   "directory back to where it was",
			   HOSTFILE_NAME, (unsigned long long)ret->round,
			   (unsigned long long)ret->job, ret->index);
	hostfile_fini(ret);
	return text;
}

static char *verify_file(const struct store_place *place, int fd, const struct hostfile *h,
			 const struct hostfile_file *file)
{
	int opened = store_file(fd, file->name), err = opened < 0 ? opened : 0;
	struct stat st;
	uint64_t size = 0;
	uint32_t crc = 0;

	if (!err && fstat(opened, &st))
		err = -errno;
	/* A file that is too short or too long need not be read. */
	if (!err && (uint64_t)st.st_size == file->size)
		err = store_sum(opened, &size, &crc);
	else if (!err)
		size = (uint64_t)st.st_size;
	if (opened >= 0)
		close(opened);
	if (err == -EBADF)
		return store_wrong(place, h->host, "%s is no regular file; " OLDER, file->name);
	if (err)
		return store_failed(place, h->host, -err, "file %s", file->name);
	if (size != file->size)
		return store_wrong(place, h->host, "%s has %llu bytes and had %llu; " OLDER,
				   file->name, (unsigned long long)size,
				   (unsigned long long)file->size);
	if (crc != file->crc)
		return store_wrong(place, h->host,
				   "%s is damaged, its checksum is %08x and was %08x; " OLDER,
				   file->name, crc, file->crc);
	return NULL;
}

/* CRIU would take up a file that was not sealed, as it goes by names. */
static char *find_strangers(const struct store_place *place, int fd, const struct hostfile *h)
{
	int again = store_below(fd, ".");
	DIR *dir = again < 0 ? NULL : store_list(again);
	struct hostfile_file key = {.size = 0};
	char *text = NULL;

	if (!dir)
		return store_failed(place, h->host, again < 0 ? -again : errno,
				    "its files cannot be listed");
	while (!text && (key.name = (char *)store_next(dir)))
		if (!store_is_beside(key.name) &&
		    !bsearch(&key, h->files, h->n_files, sizeof(key), store_compare))
			text = store_wrong(place, h->host,
					   "%s is not of this checkpoint; move it away", key.name);
	if (!text && errno)
		text = store_failed(place, h->host, errno, "its files cannot be listed");
	closedir(dir);
	return text;
}

char *store_verify(const struct store_place *place, struct hostfile *ret)
{
	int fd = store_open(place, true);
	char *text;

	if (fd < 0)
		return store_failed(place, NULL, -fd, "the images of host %u of the job",
				    place->index);
	text = read_description(place, fd, ret);
	if (text) {
		close(fd);
		return text;
	}
	if (ret->n_files)
		qsort(ret->files, ret->n_files, sizeof(*ret->files), store_compare);
	text = find_strangers(place, fd, ret);
	for (size_t i = 0; i < ret->n_files && !text; i++)
		text = verify_file(place, fd, ret, &ret->files[i]);
	close(fd);
	if (text)
		hostfile_fini(ret);
	return text;
}
