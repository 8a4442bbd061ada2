// SPDX-License-Identifier: BSD-3-Clause
/* The part of store.h that knows what is in a place: sizes and checksums of all files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/wire/crc32c.h"
#include "scheduler/proto/daemon.h"
#include "scheduler/scnoded/store/place.h"

#define BLOCK (1u << 20)
#define HOSTFILE_BYTES_MAX (256u << 20)

/* Those that are no part of the images: they may change, and a restore writes more of them. */
static bool is_note(const char *name)
{
	size_t n = strlen(name);

	return !strcmp(name, HOSTFILE_NAME) || !strcmp(name, PLACE_WRITER) ||
	       (n > 4 && !strcmp(name + n - 4, ".log")) || !strncmp(name, "stats-", 6);
}

/* Checksum of the file @fd, which is on disk after it if @is_synced. */
static int sum(int fd, bool is_synced, uint64_t *ret_size, uint32_t *ret_crc)
{
	char *block = malloc(BLOCK);
	int err = block ? 0 : -ENOMEM;
	ssize_t n = 0;

	*ret_size = 0;
	*ret_crc = 0;
	while (!err && (n = read(fd, block, BLOCK)) > 0) {
		*ret_crc = crc32c(*ret_crc, block, (size_t)n);
		*ret_size += (uint64_t)n;
	}
	if (!err && (n < 0 || (is_synced && fdatasync(fd))))
		err = -errno;
	free(block);
	return err;
}

static int sum_name(int directory, const char *name, bool is_synced, uint64_t *ret_size,
		    uint32_t *ret_crc)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err)
		err = sum(fd, is_synced, ret_size, ret_crc);
	close(fd);
	return err;
}

/* ---- to seal ---- */

static int add(int fd, const char *name, void *owner)
{
	struct hostfile *about = owner;
	struct hostfile_file *files, *file;

	if (is_note(name))
		return 0;
	if (about->n_files == HOSTFILE_FILES_MAX)
		return -EFBIG;
	files = reallocarray(about->files, about->n_files + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	about->files = files;
	file = &files[about->n_files];
	*file = (struct hostfile_file){.name = strdup(name)};
	if (!file->name)
		return -ENOMEM;
	about->n_files++;
	return sum_name(fd, name, true, &file->size, &file->crc);
}

static int write_hostfile(int fd, const struct hostfile *about)
{
	json_t *json = hostfile_encode(about);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int err = text ? place_write(fd, HOSTFILE_NAME, text) : -ENOMEM;

	free(text);
	json_decref(json);
	return err;
}

char *store_seal(const struct store_place *place, struct hostfile *about, uint64_t *ret_bytes)
{
	int fd = place_open(place, false), err = fd < 0 ? fd : place_each(fd, add, about);

	if (!err)
		err = write_hostfile(fd, about);
	if (fd >= 0)
		close(fd);
	*ret_bytes = 0;
	for (size_t i = 0; i < about->n_files; i++)
		*ret_bytes += about->files[i].size;
	return err ? place_complaint(place, "they can't be brought to disk", err) : NULL;
}

/* ---- to verify ---- */

static char *read_hostfile(const struct store_place *place, int fd, struct hostfile *ret)
{
	char *text = place_read(fd, HOSTFILE_NAME, HOSTFILE_BYTES_MAX), why[256];
	json_t *json;
	int err;

	if (!text)
		return place_complaint(place, HOSTFILE_NAME, errno);
	json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	err = hostfile_decode(ret, json, why, sizeof(why));
	json_decref(json);
	if (!err && ret->job == place->job && ret->round == place->round &&
	    ret->index == place->index)
		return NULL;
	if (!err)
		hostfile_fini(ret);
	return daemon_text("images of job %" PRIu64 ", checkpoint %" PRIu64 ", in %s: %s; restart "
			   "from an older checkpoint",
			   place->job, place->round, place->directory,
			   err ? why : "host.json is of another place");
}

static char *verify_file(const struct store_place *place, int fd, const struct hostfile_file *file)
{
	uint64_t size;
	uint32_t crc;
	int err = sum_name(fd, file->name, false, &size, &crc);

	if (err)
		return place_complaint(place, file->name, err);
	if (size == file->size && crc == file->crc)
		return NULL;
	return daemon_text("images of job %" PRIu64 ", checkpoint %" PRIu64
			   ", in %s: %s is damaged: its %s differs; look after that disk, and "
			   "restart from an older checkpoint",
			   place->job, place->round, place->directory, file->name,
			   size == file->size ? "checksum" : "size");
}

char *store_verify(const struct store_place *place, struct hostfile *ret)
{
	int fd = place_open(place, true);
	char *text;

	*ret = (struct hostfile){0};
	if (fd < 0)
		return place_complaint(place, "they are not there", fd);
	text = read_hostfile(place, fd, ret);
	for (size_t i = 0; !text && i < ret->n_files; i++)
		text = verify_file(place, fd, &ret->files[i]);
	close(fd);
	return text;
}
