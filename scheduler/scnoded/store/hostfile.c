// SPDX-License-Identifier: BSD-3-Clause
/*
 * hostfile - see hostfile.h. The JSON has the fields of struct hostfile under their names; devices
 * and inodes are 16 hexadecimal digits.
 */
#include "scheduler/scnoded/store/hostfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/job.h"

#define FORMAT 1 /* of host.json; a version that knows another one refuses it */
#define WRITABLES_MAX 1000000

/* ---- encoding ---- */

static json_t *encode_writable(const struct hostfile_writable *writable)
{
	return json_pack("{s:o, s:o, s:o, s:I}", "path", fields_from_text(writable->path), "device",
			 fields_from_bits(writable->device), "inode",
			 fields_from_bits(writable->inode), "size", (json_int_t)writable->size);
}

static json_t *encode_writables(const struct hostfile *h)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < h->n_writables; i++) {
		if (json_array_append_new(array, encode_writable(&h->writables[i]))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *encode_files(const struct hostfile *h)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < h->n_files; i++) {
		const struct hostfile_file *file = &h->files[i];
		json_t *value = json_pack("{s:o, s:I, s:I}", "name", fields_from_text(file->name),
					  "size", (json_int_t)file->size, "crc",
					  (json_int_t)file->crc);

		if (json_array_append_new(array, value)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *hostfile_encode(const struct hostfile *h)
{
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:O, s:o, s:o}",
			 "format", FORMAT, "job", (json_int_t)h->job, "round", (json_int_t)h->round,
			 "index", (json_int_t)h->index, "n_hosts", (json_int_t)h->n_hosts, "taken",
			 (json_int_t)h->taken, "host", h->host, "kernel", h->kernel, "criu",
			 h->criu, "cpu_flags", h->cpu_flags, "order", h->order, "writables",
			 encode_writables(h), "files", encode_files(h));
}

/* ---- decoding ---- */

static void decode_text(struct fields *fields, const char *name, enum fields_kind kind, char *ret)
{
	char *text = fields_text(fields, name, kind, false);

	if (text && strlen(text) >= HOSTFILE_TEXT_MAX)
		fields_wrong(fields, "%s must have less than %d bytes", name, HOSTFILE_TEXT_MAX);
	else if (text)
		strcpy(ret, text);
	free(text);
}

/* Room for the list, whose length comes in *@ret_n. NULL: it is empty, or there is an error. */
static void *make_room(struct fields *fields, const json_t *array, size_t size, size_t *ret_n)
{
	size_t n = json_array_size(array);
	void *room = fields->err || !n ? NULL : calloc(n, size);

	if (room)
		*ret_n = n;
	else if (n && !fields->err)
		fields_no_memory(fields);
	return room;
}

static void decode_writable(struct fields *fields, struct hostfile_writable *writable,
			    const json_t *from)
{
	struct fields inner = *fields;

	inner.from = from;
	inner.what = HOSTFILE_NAME "'s writable";
	writable->path = fields_text(&inner, "path", FIELDS_PATH, false);
	if (writable->path && strlen(writable->path) >= PATH_MAX)
		fields_wrong(&inner, "path must have less than %d bytes", PATH_MAX);
	writable->device = fields_bits(&inner, "device");
	writable->inode = fields_bits(&inner, "inode");
	writable->size = (uint64_t)fields_number(&inner, "size", 0, INT64_MAX);
	fields->err = inner.err;
}

static int compare_writables(const void *a, const void *b)
{
	const struct hostfile_writable *const *one = a, *const *two = b;

	if ((*one)->device != (*two)->device)
		return (*one)->device < (*two)->device ? -1 : 1;
	return ((*one)->inode > (*two)->inode) - ((*one)->inode < (*two)->inode);
}

static int compare_files(const void *a, const void *b)
{
	const struct hostfile_file *const *one = a, *const *two = b;

	return strcmp((*one)->name, (*two)->name);
}

/* An element of @elements that is there twice; the order of the elements stays. NULL: none. */
static const void *find_twin(struct fields *fields, const void *elements, size_t n, size_t size,
			     int (*compare)(const void *, const void *))
{
	const void **sorted = fields->err || !n ? NULL : calloc(n, sizeof(*sorted));
	const void *twin = NULL;

	if (!sorted) {
		if (n)
			fields_no_memory(fields);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		sorted[i] = (const char *)elements + i * size;
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 1; i < n && !twin; i++)
		if (!compare(&sorted[i - 1], &sorted[i]))
			twin = sorted[i];
	free(sorted);
	return twin;
}

static void decode_writables(struct fields *fields, struct hostfile *h)
{
	const json_t *array = fields_array(fields, "writables", 0, WRITABLES_MAX);
	const struct hostfile_writable *twin;

	h->writables = make_room(fields, array, sizeof(*h->writables), &h->n_writables);
	for (size_t i = 0; i < h->n_writables && !fields->err; i++)
		decode_writable(fields, &h->writables[i], json_array_get(array, i));
	twin = find_twin(fields, h->writables, h->n_writables, sizeof(*h->writables),
			 compare_writables);
	if (twin)
		fields_wrong(fields, "writables has inode %llu of one device twice",
			     (unsigned long long)twin->inode);
}

static void decode_file(struct fields *fields, struct hostfile_file *file, const json_t *from)
{
	struct fields inner = *fields;

	inner.from = from;
	inner.what = HOSTFILE_NAME "'s file";
	file->name = fields_text(&inner, "name", FIELDS_LINE, false);
	/* It is opened in a directory, and must not lead out of it. */
	if (file->name &&
	    (strchr(file->name, '/') || strlen(file->name) > NAME_MAX || !strcmp(file->name, ".") ||
	     !strcmp(file->name, "..") || !strcmp(file->name, HOSTFILE_NAME)))
		fields_wrong(&inner, "name must be that of a file of the dump");
	file->size = (uint64_t)fields_number(&inner, "size", 0, INT64_MAX);
	file->crc = (uint32_t)fields_number(&inner, "crc", 0, UINT32_MAX);
	fields->err = inner.err;
}

static void decode_files(struct fields *fields, struct hostfile *h)
{
	const json_t *array = fields_array(fields, "files", 0, HOSTFILE_FILES_MAX);
	const struct hostfile_file *twin;

	h->files = make_room(fields, array, sizeof(*h->files), &h->n_files);
	for (size_t i = 0; i < h->n_files && !fields->err; i++)
		decode_file(fields, &h->files[i], json_array_get(array, i));
	twin = find_twin(fields, h->files, h->n_files, sizeof(*h->files), compare_files);
	if (twin)
		fields_wrong(fields, "files has %s twice", twin->name);
}

static void decode_order(struct fields *fields, struct hostfile *h)
{
	json_t *order = json_object_get(fields->from, "order");

	if (json_is_object(order))
		h->order = json_incref(order);
	else
		fields_wrong(fields, "order must be an object");
}

static void decode(struct fields *fields, struct hostfile *h)
{
	fields_number(fields, "format", FORMAT, FORMAT);
	h->job = (uint64_t)fields_number(fields, "job", 1, INT64_MAX);
	h->round = (uint64_t)fields_number(fields, "round", 1, INT64_MAX);
	h->n_hosts = (uint32_t)fields_number(fields, "n_hosts", 1, JOB_RANKS_MAX);
	h->index = (uint32_t)fields_number(fields, "index", 0, (int64_t)h->n_hosts - 1);
	h->taken = fields_number(fields, "taken", 0, INT64_MAX);
	decode_text(fields, "host", FIELDS_NAME, h->host);
	decode_text(fields, "kernel", FIELDS_LINE, h->kernel);
	decode_text(fields, "criu", FIELDS_LINE, h->criu);
	h->cpu_flags = fields_text(fields, "cpu_flags", FIELDS_NOTE, false);
	decode_order(fields, h);
	decode_writables(fields, h);
	decode_files(fields, h);
}

int hostfile_decode(struct hostfile *ret, const json_t *json, char *why, size_t why_size)
{
	struct fields fields = {
		.from = json, .what = HOSTFILE_NAME, .why = why, .why_size = why_size};

	memset(ret, 0, sizeof(*ret));
	decode(&fields, ret);
	if (!fields.err)
		return 0;
	hostfile_fini(ret);
	return fields.err == -EINVAL ? -EPROTO : fields.err;
}

void hostfile_fini(struct hostfile *h)
{
	for (size_t i = 0; i < h->n_files; i++)
		free(h->files[i].name);
	for (size_t i = 0; i < h->n_writables; i++)
		free(h->writables[i].path);
	free(h->files);
	free(h->writables);
	free(h->cpu_flags);
	json_decref(h->order);
	memset(h, 0, sizeof(*h));
}
