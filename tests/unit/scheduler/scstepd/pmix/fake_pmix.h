/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_pmix - a step whose PMIx server is this file: packed data are lines of text, and events that
 * are told are kept. Defines functions of PMIx's library, which the linker takes before those of
 * the library itself; for one file of a test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_PMIX_FAKE_PMIX_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_PMIX_FAKE_PMIX_H

#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

static struct {
	pmix_status_t pack, notify; /* results of the next calls */
	int n_unpacked;             /* calls */
	int n_notified;
	pmix_status_t code;
	pmix_proc_t source;
	bool has_source;
	pmix_data_range_t range;
	const pmix_info_t *infos; /* PMIx's until notified() */
	size_t n_infos;
	pmix_op_cbfunc_t notified;
	void *notified_arg;
	/* answers */
	int n_done;
	pmix_status_t status;
	char text[256];
	size_t size;
} pmix;

static inline void pmix_open(size_t n_hosts, uint32_t each)
{
	memset(&pmix, 0, sizeof(pmix));
	fake_open(n_hosts, each);
	shift_open(fake.step.loop);
	server_serve(&fake.step);
}

static inline void pmix_close(void)
{
	shift_close();
	server_serve(NULL);
	fake_close();
}

/* Rank @rank of world 0. */
static inline pmix_proc_t pmix_proc(pmix_rank_t rank)
{
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, worlds_get(&fake.step.worlds, 0)->nspace, rank);
	return proc;
}

static inline void pmix_text_info(pmix_info_t *info, const char *key, const char *text)
{
	memset(info, 0, sizeof(*info));
	PMIX_LOAD_KEY(info->key, key);
	info->value.type = PMIX_STRING;
	info->value.data.string = strdup(text);
}

static inline void pmix_int_info(pmix_info_t *info, const char *key, int value)
{
	memset(info, 0, sizeof(*info));
	PMIX_LOAD_KEY(info->key, key);
	info->value.type = PMIX_INT;
	info->value.data.integer = value;
}

/* Of an upcall: its answer. */
static inline void pmix_done(pmix_status_t status, void *arg)
{
	ok(arg == &pmix);
	pmix.n_done++;
	pmix.status = status;
}

static inline void pmix_modex_done(pmix_status_t status, const char *data, size_t size, void *arg,
				   pmix_release_cbfunc_t release, void *release_arg)
{
	pmix_done(status, arg);
	pmix.size = size;
	snprintf(pmix.text, sizeof(pmix.text), "%.*s", (int)size, data ? data : "");
	if (release)
		release(release_arg);
}

static inline void is_done(int n, pmix_status_t status)
{
	is_int(pmix.n_done, n);
	is_int(pmix.status, status);
}

/* A head in JSON for a function that is told by the tree. */
static inline json_t *pmix_head(const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	okf(head != NULL, "%s", text);
	return head;
}

/* ---- the library ---- */

static inline void buffer_add(pmix_data_buffer_t *buffer, const char *text)
{
	size_t size = strlen(text);

	buffer->base_ptr = realloc(buffer->base_ptr, buffer->bytes_used + size + 1);
	memcpy(buffer->base_ptr + buffer->bytes_used, text, size + 1);
	buffer->bytes_used += size;
	buffer->unpack_ptr = buffer->base_ptr;
}

static inline void pack_one(pmix_data_buffer_t *buffer, const void *from, pmix_data_type_t type)
{
	const pmix_info_t *info = from;
	const pmix_pdata_t *pdata = from;
	const pmix_value_t *value = from;
	char text[2048] = "";

	if (type == PMIX_VALUE) { /* of any length */
		buffer_add(buffer, value->type == PMIX_STRING ? value->data.string : "-");
		return;
	}
	if (type == PMIX_INT32)
		snprintf(text, sizeof(text), "%d\n", *(const int32_t *)from);
	else if (type == PMIX_INFO)
		snprintf(text, sizeof(text), "%s=%s\n", info->key,
			 info->value.type == PMIX_STRING ? info->value.data.string : "-");
	else if (ok(type == PMIX_PDATA))
		snprintf(text, sizeof(text), "%u:%s=%s\n", pdata->proc.rank, pdata->key,
			 pdata->value.data.string);
	buffer_add(buffer, text);
}

static inline size_t size_of(pmix_data_type_t type)
{
	return type == PMIX_INT32   ? sizeof(int32_t)
	       : type == PMIX_INFO  ? sizeof(pmix_info_t)
	       : type == PMIX_VALUE ? sizeof(pmix_value_t)
				    : sizeof(pmix_pdata_t);
}

pmix_status_t PMIx_Data_pack(const pmix_proc_t *target, pmix_data_buffer_t *buffer, void *from,
			     int32_t n, pmix_data_type_t type)
{
	for (int32_t i = 0; !pmix.pack && i < n; i++)
		pack_one(buffer, (const char *)from + (size_t)i * size_of(type), type);
	return pmix.pack;
}

pmix_status_t PMIx_Data_load(pmix_data_buffer_t *buffer, pmix_byte_object_t *bytes)
{
	char *text = strndup(bytes->bytes, bytes->size);

	buffer_add(buffer, text);
	free(text);
	free(bytes->bytes);
	*bytes = (pmix_byte_object_t){0};
	return PMIX_SUCCESS;
}

static inline bool unpack_one(char **from, void *to, pmix_data_type_t type)
{
	char *line = strsep(from, "\n"), *value;
	pmix_pdata_t *pdata = to;

	if (!*from || !line)
		return false;
	if (type == PMIX_INT32) {
		*(int32_t *)to = atoi(line);
		return true;
	}
	if (type == PMIX_PDATA) {
		pdata->proc.rank = (pmix_rank_t)strtoul(line, &line, 10);
		line++;
	}
	value = line;
	strsep(&value, "=");
	if (!value)
		return false;
	if (type == PMIX_INFO) {
		pmix_text_info(to, line, value);
		return true;
	}
	PMIX_LOAD_KEY(pdata->key, line);
	pdata->value.type = PMIX_STRING;
	pdata->value.data.string = strdup(value);
	return true;
}

pmix_status_t PMIx_Data_unpack(const pmix_proc_t *source, pmix_data_buffer_t *buffer, void *to,
			       int32_t *n, pmix_data_type_t type)
{
	pmix.n_unpacked++;
	for (int32_t i = 0; i < *n; i++)
		if (!unpack_one(&buffer->unpack_ptr, (char *)to + (size_t)i * size_of(type), type))
			return PMIX_ERR_UNPACK_FAILURE;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Notify_event(pmix_status_t code, const pmix_proc_t *source,
				pmix_data_range_t range, const pmix_info_t infos[], size_t n,
				pmix_op_cbfunc_t done, void *arg)
{
	pmix.n_notified++;
	pmix.code = code;
	pmix.has_source = source != NULL;
	if (source)
		pmix.source = *source;
	pmix.range = range;
	pmix.infos = infos;
	pmix.n_infos = n;
	pmix.notified = done;
	pmix.notified_arg = arg;
	return pmix.notify;
}

#endif
