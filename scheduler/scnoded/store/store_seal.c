// SPDX-License-Identifier: BSD-3-Clause
/* store_seal - takes stock of what a dump has written, and brings it to the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

#define TEMPORARY HOSTFILE_NAME ".new"

/* A seal on its way. */
struct sealing {
	const struct store_place *place;
	int fd;            /* of INDEX */
	struct hostfile h; /* what the caller knows, and files */
	size_t room;       /* elements of h.files */
	uint64_t bytes;    /* of all files */
};

static int add(struct sealing *s, const char *name, uint64_t size, uint32_t crc)
{
	struct hostfile_file *more;

	if (s->h.n_files == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		more = realloc(s->h.files, s->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->h.files = more;
	}
	more = &s->h.files[s->h.n_files];
	*more = (struct hostfile_file){.name = strdup(name), .size = size, .crc = crc};
	if (!more->name)
		return -ENOMEM;
	s->h.n_files++;
	s->bytes += size;
	return 0;
}

static char *seal_file(struct sealing *s, const char *name)
{
	int file = store_file(s->fd, name), err = file < 0 ? file : 0;
	uint64_t size = 0;
	uint32_t crc = 0;

	if (err == -EBADF)
		return store_wrong(s->place, s->h.host,
				   "%s is no regular file, which a dump does not write; remove it",
				   name);
	if (!err)
		err = store_sum(file, &size, &crc);
	if (!err && fsync(file))
		err = -errno;
	if (file >= 0 && close(file) && !err)
		err = -errno;
	if (!err)
		err = add(s, name, size, crc);
	return err ? store_failed(s->place, s->h.host, -err, "file %s", name) : NULL;
}

static char *seal_files(struct sealing *s)
{
	int fd = store_below(s->fd, ".");
	DIR *dir = fd < 0 ? NULL : store_list(fd);
	const char *name;
	char *text = NULL;

	if (!dir)
		return store_failed(s->place, s->h.host, fd < 0 ? -fd : errno,
				    "its files cannot be listed");
	while (!text && (name = store_next(dir)))
		/* the latter: a seal was cut short */
		if (!store_is_beside(name) && strcmp(name, TEMPORARY))
			text = seal_file(s, name);
	if (!text && errno)
		text = store_failed(s->place, s->h.host, errno, "its files cannot be listed");
	closedir(dir);
	if (s->h.n_files)
		qsort(s->h.files, s->h.n_files, sizeof(*s->h.files), store_compare);
	return text;
}

/* Only a text that can be read again may be written. */
static char *describe(const struct sealing *s, char **ret)
{
	json_t *json = hostfile_encode(&s->h);
	struct hostfile again;
	char why[512] = "";
	int err = json ? hostfile_decode(&again, json, why, sizeof(why)) : -ENOMEM;

	if (!err) {
		hostfile_fini(&again);
		*ret = json_dumps(json, JSON_COMPACT);
		err = *ret ? 0 : -ENOMEM;
	}
	json_decref(json);
	if (err == -EPROTO)
		return store_wrong(s->place, s->h.host, "it cannot be described: %s", why);
	return err ? store_failed(s->place, s->h.host, -err, "it cannot be described") : NULL;
}

static char *write_description(const struct sealing *s)
{
	char *json = NULL, *text = describe(s, &json);
	size_t size;
	int err;

	if (text)
		return text;
	size = strlen(json);
	err = store_write(s->fd, TEMPORARY, json, size);
	free(json);
	if (!err && (renameat(s->fd, TEMPORARY, s->fd, HOSTFILE_NAME) || fsync(s->fd)))
		err = -errno;
	return err ? store_failed(s->place, s->h.host, -err, "%zu bytes of %s cannot be written",
				  size, HOSTFILE_NAME)
		   : NULL;
}

char *store_seal(const struct store_place *place, const struct hostfile *about, uint64_t *ret_bytes)
{
	struct sealing s = {.place = place, .fd = store_open(place, false), .h = *about};
	char *text;

	if (s.fd < 0)
		return store_failed(place, about->host, -s.fd, "its images cannot be opened");
	s.h.job = place->job;
	s.h.round = place->round;
	s.h.index = place->index;
	s.h.files = NULL;
	s.h.n_files = 0;
	text = seal_files(&s);
	if (!text)
		text = write_description(&s);
	if (!text)
		*ret_bytes = s.bytes;
	for (size_t i = 0; i < s.h.n_files; i++)
		free(s.h.files[i].name);
	free(s.h.files);
	close(s.fd);
	return text;
}
