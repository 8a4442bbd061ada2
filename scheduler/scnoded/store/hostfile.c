// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/store/hostfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"

#define FORMAT 1
#define INDEX_MAX 65535
#define WRITABLES_MAX 1000000
#define CPU_FLAGS_MAX 16384

/* ---- to JSON ---- */

static json_t *encode_files(const struct hostfile *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_files; i++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", h->files[i].name,
						      "size", (json_int_t)h->files[i].size, "crc",
						      (json_int_t)h->files[i].crc));
	return list;
}

static json_t *encode_writables(const struct hostfile *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_writables; i++) {
		const struct hostfile_writable *each = &h->writables[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:I}", "path",
						      fields_from_text(each->path), "device",
						      fields_from_bits(each->device), "inode",
						      fields_from_bits(each->inode), "size",
						      (json_int_t)each->size));
	}
	return list;
}

json_t *hostfile_encode(const struct hostfile *h)
{
	return json_pack("{s:i, s:I, s:I, s:i, s:i, s:I, s:s, s:s, s:s, s:s, s:O, s:o, s:o}",
			 "format", FORMAT, "job", (json_int_t)h->job, "round", (json_int_t)h->round,
			 "index", (int)h->index, "n_hosts", (int)h->n_hosts, "taken",
			 (json_int_t)h->taken, "host", h->host, "kernel", h->kernel, "criu",
			 h->criu, "cpu_flags", h->cpu_flags, "order", h->order, "writables",
			 encode_writables(h), "files", encode_files(h));
}

/* ---- from JSON ---- */

/* Room for what an array of @fields has; NULL: none, or no memory, which is said. */
static void *room_for(struct fields *fields, const json_t *array, size_t size)
{
	void *room = json_array_size(array) ? calloc(json_array_size(array), size) : NULL;

	if (json_array_size(array) && !room)
		fields_no_memory(fields);
	return room;
}

static struct fields of_entry(const struct fields *fields, const json_t *entry, const char *what)
{
	return (struct fields){
		.from = entry, .what = what, .why = fields->why, .why_size = fields->why_size};
}

static void decode_file(struct fields *fields, struct hostfile_file *ret)
{
	*ret = (struct hostfile_file){.name = fields_text(fields, "name", FIELDS_NAME, false),
				      .size = (uint64_t)fields_number(fields, "size", 0, INT64_MAX),
				      .crc = (uint32_t)fields_number(fields, "crc", 0, UINT32_MAX)};
	if (ret->name && (!strcmp(ret->name, ".") || !strcmp(ret->name, "..")))
		fields_wrong(fields, "name %s is no file", ret->name);
}

static void decode_writable(struct fields *fields, struct hostfile_writable *ret)
{
	*ret = (struct hostfile_writable){.path = fields_text(fields, "path", FIELDS_PATH, false),
					  .device = fields_bits(fields, "device"),
					  .inode = fields_bits(fields, "inode"),
					  .size = (uint64_t)fields_number(fields, "size", 0,
									  INT64_MAX)};
}

static int compare_names(const void *a, const void *b)
{
	const struct hostfile_file *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static void refuse_doubles(struct fields *fields, struct hostfile *h)
{
	if (h->n_files)
		qsort(h->files, h->n_files, sizeof(*h->files), compare_names);
	for (size_t i = 1; i < h->n_files; i++)
		if (!strcmp(h->files[i].name, h->files[i - 1].name))
			fields_wrong(fields, "file %s is there twice", h->files[i].name);
}

static void decode_files(struct fields *fields, struct hostfile *h)
{
	const json_t *array = fields_array(fields, "files", 0, HOSTFILE_FILES_MAX), *entry;
	size_t i;

	h->files = room_for(fields, array, sizeof(*h->files));
	json_array_foreach(array, i, entry) {
		struct fields each = of_entry(fields, entry, "a file of host.json");

		if (fields->err)
			return;
		decode_file(&each, &h->files[h->n_files++]);
		fields->err = each.err;
	}
	if (!fields->err)
		refuse_doubles(fields, h);
}

static void decode_writables(struct fields *fields, struct hostfile *h)
{
	const json_t *array = fields_array(fields, "writables", 0, WRITABLES_MAX), *entry;
	size_t i;

	h->writables = room_for(fields, array, sizeof(*h->writables));
	json_array_foreach(array, i, entry) {
		struct fields each = of_entry(fields, entry, "a writable of host.json");

		if (fields->err)
			return;
		decode_writable(&each, &h->writables[h->n_writables++]);
		fields->err = each.err;
	}
}

static json_t *decode_order(struct fields *fields)
{
	json_t *order = json_object_get(fields->from, "order");

	if (!json_is_object(order))
		fields_wrong(fields, "order must be an object");
	return json_incref(order);
}

int hostfile_decode(struct hostfile *ret, const json_t *json, char *why, size_t why_size)
{
	struct fields fields = {
		.from = json, .what = "host.json", .why = why, .why_size = why_size};
	struct hostfile h = {0};

	fields_number(&fields, "format", FORMAT, FORMAT);
	h.job = (uint64_t)fields_number(&fields, "job", 1, INT64_MAX);
	h.round = (uint64_t)fields_number(&fields, "round", 1, INT64_MAX);
	h.n_hosts = (uint32_t)fields_number(&fields, "n_hosts", 1, INDEX_MAX + 1);
	h.index = (uint32_t)fields_number(&fields, "index", 0, INDEX_MAX);
	h.taken = fields_number(&fields, "taken", 1, INT64_MAX);
	h.host = fields_text(&fields, "host", FIELDS_NAME, false);
	h.kernel = fields_text(&fields, "kernel", FIELDS_LINE, false);
	h.criu = fields_text(&fields, "criu", FIELDS_NAME, false);
	h.cpu_flags = fields_text(&fields, "cpu_flags", FIELDS_NOTE, false);
	if (!fields.err && h.index >= h.n_hosts)
		fields_wrong(&fields, "index %u of %u hosts", h.index, h.n_hosts);
	if (!fields.err && strlen(h.cpu_flags) > CPU_FLAGS_MAX)
		fields_wrong(&fields, "cpu_flags is too long");
	h.order = decode_order(&fields);
	decode_writables(&fields, &h);
	decode_files(&fields, &h);
	if (fields.err)
		hostfile_fini(&h);
	*ret = h;
	return fields.err;
}

void hostfile_fini(struct hostfile *h)
{
	for (size_t i = 0; i < h->n_files; i++)
		free(h->files[i].name);
	for (size_t i = 0; i < h->n_writables; i++)
		free(h->writables[i].path);
	free(h->files);
	free(h->writables);
	free(h->host);
	free(h->kernel);
	free(h->criu);
	free(h->cpu_flags);
	json_decref(h->order);
	*h = (struct hostfile){0};
}
