// SPDX-License-Identifier: BSD-3-Clause
/*
 * publish - names that ranks give to data, kept by the root for the whole job. Values travel packed
 * by PMIx and are never opened on the way. A lookup that waits is answered when the last of its
 * keys is there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/pmix/ask.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "scheduler/scstepd/pmix/server.h"
#include "scheduler/scstepd/pmix/shift.h"
#include "scheduler/scstepd/pmix/upcalls.h"

#define KEPT_BYTES_MAX (64u << 20)
#define WAITING_MAX 65536

struct kept {
	struct kept *next;
	pmix_proc_t from;
	char *key;
	pmix_persistence_t persistence;
	pmix_value_t value;
	size_t bytes; /* what it counts for */
};

struct waiting { /* a lookup */
	struct waiting *next;
	size_t host;
	uint64_t ticket;
	json_t *keys;
	ev_timer limit;
};

static struct {
	struct kept *kept;
	struct waiting *waiting;
	size_t n_waiting;
	size_t bytes;
} store;

/* ---- where the rank is ---- */

static void load_options(json_t *head, const pmix_info_t *info, size_t n)
{
	const pmix_value_t *wait = infos_find(info, n, PMIX_WAIT);
	const pmix_value_t *timeout = infos_find(info, n, PMIX_TIMEOUT);

	/* PMIX_WAIT comes as a flag or as the number of keys to wait for. */
	if (wait && (wait->type == PMIX_UNDEF || (wait->type == PMIX_BOOL && wait->data.flag) ||
		     wait->type == PMIX_INT || wait->type == PMIX_UINT32))
		json_object_set_new(head, "wait", json_true());
	if (timeout && timeout->type == PMIX_INT && timeout->data.integer > 0)
		json_object_set_new(head, "timeout", json_integer(timeout->data.integer));
}

static json_t *keys_of(char **keys)
{
	json_t *array = json_array();

	for (size_t i = 0; keys && keys[i]; i++)
		json_array_append_new(array, json_string(keys[i]));
	return array;
}

static pmix_status_t ask_keys(const char *op, const pmix_proc_t *proc, char **keys,
			      const pmix_info_t info[], size_t n, struct ask *ask)
{
	json_t *head;

	if (!ask)
		return PMIX_ERR_NOMEM;
	head = json_pack("{s:s, s:s, s:I, s:o}", "op", op, "nspace", proc->nspace, "rank",
			 (json_int_t)proc->rank, "keys", keys_of(keys));
	if (head)
		load_options(head, info, n);
	return ask_post(ask, head, NULL, 0);
}

pmix_status_t publish_upcall(const pmix_proc_t *proc, const pmix_info_t info[], size_t n,
			     pmix_op_cbfunc_t done, void *arg)
{
	struct ask *ask = ask_new(proc, arg);
	const pmix_value_t *persistence = infos_find(info, n, PMIX_PERSISTENCE);
	pmix_data_buffer_t buffer;
	pmix_status_t status;
	json_t *head;

	if (!ask)
		return PMIX_ERR_NOMEM;
	ask->op_done = done;
	PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
	status = PMIx_Data_pack(NULL, &buffer, (void *)(uintptr_t)info, (int32_t)n, PMIX_INFO);
	head = json_pack("{s:s, s:s, s:I, s:I, s:i}", "op", OP_PUBLISH, "nspace", proc->nspace,
			 "rank", (json_int_t)proc->rank, "count", (json_int_t)n, "persistence",
			 persistence && persistence->type == PMIX_PERSIST
				 ? (int)persistence->data.persist
				 : PMIX_PERSIST_SESSION);
	if (status == PMIX_SUCCESS) {
		status = ask_post(ask, head, buffer.base_ptr, buffer.bytes_used);
	} else {
		json_decref(head);
		free(ask);
	}
	PMIX_DATA_BUFFER_DESTRUCT(&buffer);
	return status;
}

static void give_found(struct ask *ask, pmix_status_t status, const char *body, size_t size)
{
	pmix_data_buffer_t buffer;
	pmix_byte_object_t bytes = {.size = size};
	pmix_pdata_t *found = NULL;
	int32_t n = 0, one = 1;

	PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
	if (status == PMIX_SUCCESS && size) {
		bytes.bytes = malloc(size);
		if (bytes.bytes)
			memcpy(bytes.bytes, body, size);
		status = bytes.bytes ? PMIx_Data_load(&buffer, &bytes) : PMIX_ERR_NOMEM;
		if (status == PMIX_SUCCESS)
			status = PMIx_Data_unpack(NULL, &buffer, &n, &one, PMIX_INT32);
		if (status == PMIX_SUCCESS && (n < 1 || n > 65536))
			status = PMIX_ERR_UNPACK_FAILURE;
		if (status == PMIX_SUCCESS) {
			PMIX_PDATA_CREATE(found, (size_t)n);
			status = found ? PMIx_Data_unpack(NULL, &buffer, found, &n, PMIX_PDATA)
				       : PMIX_ERR_NOMEM;
		}
	}
	ask->lookup_done(status, found, status == PMIX_SUCCESS ? (size_t)n : 0, ask->arg);
	if (found)
		PMIX_PDATA_FREE(found, (size_t)n);
	PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

pmix_status_t lookup_upcall(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
			    size_t n, pmix_lookup_cbfunc_t done, void *arg)
{
	struct ask *ask = ask_new(proc, arg);

	if (ask) {
		ask->lookup_done = done;
		ask->answered = give_found;
	}
	return ask_keys(OP_LOOKUP, proc, keys, info, n, ask);
}

pmix_status_t unpublish_upcall(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
			       size_t n, pmix_op_cbfunc_t done, void *arg)
{
	struct ask *ask = ask_new(proc, arg);

	if (ask)
		ask->op_done = done;
	return ask_keys(OP_UNPUBLISH, proc, keys, info, n, ask);
}

/* ---- the root ---- */

static void kept_free(struct kept *kept)
{
	store.bytes -= kept->bytes;
	PMIX_VALUE_DESTRUCT(&kept->value);
	free(kept->key);
	free(kept);
}

static struct kept **find(const char *key)
{
	struct kept **at = &store.kept;

	while (*at && strcmp((*at)->key, key))
		at = &(*at)->next;
	return at;
}

/* Options of the call are infos like the data. */
static bool is_option(const char *key)
{
	static const char *const options[] = {
		PMIX_RANGE, PMIX_PERSISTENCE, PMIX_TIMEOUT,           PMIX_USERID,
		PMIX_GRPID, PMIX_WAIT,        PMIX_ACCESS_PERMISSIONS};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(key, options[i]))
			return true;
	return false;
}

/* That a value takes, packed; 0: it can't be. */
static size_t bytes_of(const pmix_info_t *info)
{
	pmix_data_buffer_t buffer;
	size_t bytes = 0;

	PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
	if (PMIx_Data_pack(NULL, &buffer, (void *)(uintptr_t)&info->value, 1, PMIX_VALUE) ==
	    PMIX_SUCCESS)
		bytes = sizeof(struct kept) + sizeof(info->key) + buffer.bytes_used;
	PMIX_DATA_BUFFER_DESTRUCT(&buffer);
	return bytes;
}

static pmix_status_t keep(const pmix_proc_t *from, const json_t *head, const pmix_info_t *info)
{
	size_t bytes = bytes_of(info);
	struct kept *kept;

	if (!bytes)
		return PMIX_ERR_BAD_PARAM;
	if (*find(info->key))
		return PMIX_ERR_DUPLICATE_KEY;
	if (store.bytes + bytes > KEPT_BYTES_MAX)
		return PMIX_ERR_OUT_OF_RESOURCE;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return PMIX_ERR_NOMEM;
	kept->from = *from;
	kept->key = strdup(info->key);
	kept->persistence =
		(pmix_persistence_t)json_integer_value(json_object_get(head, "persistence"));
	kept->bytes = bytes;
	if (!kept->key || PMIx_Value_xfer(&kept->value, (pmix_value_t *)(uintptr_t)&info->value) !=
				  PMIX_SUCCESS) {
		store.bytes += bytes;
		kept_free(kept);
		return PMIX_ERR_NOMEM;
	}
	store.bytes += bytes;
	kept->next = store.kept;
	store.kept = kept;
	return PMIX_SUCCESS;
}

static pmix_status_t publish(const pmix_proc_t *from, const json_t *head, const char *body,
			     size_t size)
{
	json_int_t count = json_integer_value(json_object_get(head, "count"));
	pmix_byte_object_t bytes = {.size = size};
	pmix_data_buffer_t buffer;
	pmix_info_t *infos = NULL;
	int32_t n = (int32_t)count;
	pmix_status_t status;

	if (count < 1 || count > 65536 || !size)
		return PMIX_ERR_BAD_PARAM;
	PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
	bytes.bytes = malloc(size);
	PMIX_INFO_CREATE(infos, (size_t)count);
	if (!bytes.bytes || !infos) {
		free(bytes.bytes);
		status = PMIX_ERR_NOMEM;
	} else {
		memcpy(bytes.bytes, body, size);
		status = PMIx_Data_load(&buffer, &bytes);
	}
	if (status == PMIX_SUCCESS)
		status = PMIx_Data_unpack(NULL, &buffer, infos, &n, PMIX_INFO);
	for (int32_t i = 0; status == PMIX_SUCCESS && i < n; i++)
		if (!is_option(infos[i].key))
			status = keep(from, head, &infos[i]);
	if (infos)
		PMIX_INFO_FREE(infos, (size_t)count);
	PMIX_DATA_BUFFER_DESTRUCT(&buffer);
	return status;
}

static void answer(struct step *step, size_t host, uint64_t ticket, pmix_status_t status,
		   const void *body, size_t size)
{
	step_send(step, (int64_t)host,
		  json_pack("{s:s, s:I, s:i}", "op", OP_ANSWER, "ticket", (json_int_t)ticket,
			    "status", (int)status),
		  body, size);
}

/* Answers with the packed values found of @keys; removes those that may be read only once. */
static void answer_lookup(struct step *step, size_t host, uint64_t ticket, const json_t *keys)
{
	pmix_data_buffer_t buffer;
	pmix_status_t status = PMIX_SUCCESS;
	pmix_pdata_t *found;
	int32_t n = 0;
	size_t i;
	json_t *key;

	PMIX_PDATA_CREATE(found, json_array_size(keys) + 1);
	PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
	json_array_foreach(keys, i, key) {
		struct kept **at = find(json_string_value(key)), *kept = *at;

		if (!found || !kept)
			continue;
		found[n].proc = kept->from;
		PMIX_LOAD_KEY(found[n].key, kept->key);
		if (PMIx_Value_xfer(&found[n].value, &kept->value) == PMIX_SUCCESS)
			n++;
		if (kept->persistence == PMIX_PERSIST_FIRST_READ) {
			*at = kept->next;
			kept_free(kept);
		}
	}
	if (!n)
		status = PMIX_ERR_NOT_FOUND;
	if (status == PMIX_SUCCESS)
		status = PMIx_Data_pack(NULL, &buffer, &n, 1, PMIX_INT32);
	if (status == PMIX_SUCCESS)
		status = PMIx_Data_pack(NULL, &buffer, found, n, PMIX_PDATA);
	answer(step, host, ticket, status, status == PMIX_SUCCESS ? buffer.base_ptr : NULL,
	       status == PMIX_SUCCESS ? buffer.bytes_used : 0);
	if (found)
		PMIX_PDATA_FREE(found, json_array_size(keys) + 1);
	PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

static bool are_there(const json_t *keys)
{
	size_t i;
	json_t *key;

	json_array_foreach(keys, i, key)
		if (!*find(json_string_value(key)))
			return false;
	return true;
}

static void forget(struct waiting *waiting)
{
	struct waiting **at = &store.waiting;

	while (*at != waiting)
		at = &(*at)->next;
	*at = waiting->next;
	store.n_waiting--;
	ev_timer_stop(server_step()->loop, &waiting->limit);
	json_decref(waiting->keys);
	free(waiting);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct waiting *waiting = watcher->data;

	answer(server_step(), waiting->host, waiting->ticket, PMIX_ERR_TIMEOUT, NULL, 0);
	forget(waiting);
}

static void serve_waiting(struct step *step)
{
	struct waiting *waiting = store.waiting;

	while (waiting) {
		struct waiting *next = waiting->next;

		if (are_there(waiting->keys)) {
			answer_lookup(step, waiting->host, waiting->ticket, waiting->keys);
			forget(waiting);
		}
		waiting = next;
	}
}

static pmix_status_t wait_for(struct step *step, size_t host, uint64_t ticket, const json_t *head,
			      json_t *keys)
{
	json_int_t timeout = json_integer_value(json_object_get(head, "timeout"));
	struct waiting *waiting;

	if (store.n_waiting >= WAITING_MAX)
		return PMIX_ERR_OUT_OF_RESOURCE;
	waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return PMIX_ERR_NOMEM;
	waiting->host = host;
	waiting->ticket = ticket;
	waiting->keys = json_incref(keys);
	ev_timer_init(&waiting->limit, on_limit, (double)timeout, 0);
	waiting->limit.data = waiting;
	if (timeout > 0)
		ev_timer_start(step->loop, &waiting->limit);
	waiting->next = store.waiting;
	store.waiting = waiting;
	store.n_waiting++;
	return PMIX_SUCCESS;
}

/* Only what the same process has published. */
static void unpublish(const pmix_proc_t *from, const json_t *keys)
{
	for (struct kept **at = &store.kept; *at;) {
		struct kept *kept = *at;
		bool is_meant = !json_array_size(keys);
		size_t i;
		json_t *key;

		json_array_foreach(keys, i, key)
			is_meant |= !strcmp(kept->key, json_string_value(key));
		if (is_meant && PMIX_CHECK_PROCID(&kept->from, from)) {
			*at = kept->next;
			kept_free(kept);
		} else {
			at = &kept->next;
		}
	}
}

static bool are_words(const json_t *keys)
{
	size_t i;
	json_t *key;

	json_array_foreach(keys, i, key)
		if (!json_is_string(key))
			return false;
	return true;
}

void publish_told(struct step *step, const char *op, size_t from, const json_t *head,
		  const char *body, size_t size)
{
	const char *nspace = json_string_value(json_object_get(head, "nspace"));
	json_t *keys = json_object_get(head, "keys");
	uint64_t ticket = (uint64_t)json_integer_value(json_object_get(head, "ticket"));
	pmix_status_t status = PMIX_SUCCESS;
	pmix_proc_t proc;

	if (!nspace || strlen(nspace) > PMIX_MAX_NSLEN || !are_words(keys)) {
		answer(step, from, ticket, PMIX_ERR_BAD_PARAM, NULL, 0);
		return;
	}
	PMIX_LOAD_PROCID(&proc, nspace,
			 (pmix_rank_t)json_integer_value(json_object_get(head, "rank")));
	if (!strcmp(op, OP_PUBLISH)) {
		status = publish(&proc, head, body, size);
	} else if (!strcmp(op, OP_UNPUBLISH)) {
		unpublish(&proc, keys);
	} else if (are_there(keys) || !json_is_true(json_object_get(head, "wait"))) {
		answer_lookup(step, from, ticket, keys);
		return;
	} else {
		status = wait_for(step, from, ticket, head, keys);
		if (status == PMIX_SUCCESS)
			return;
	}
	answer(step, from, ticket, status, NULL, 0);
	serve_waiting(step);
}

void publish_close(void)
{
	while (store.waiting)
		forget(store.waiting);
	while (store.kept) {
		struct kept *kept = store.kept;

		store.kept = kept->next;
		kept_free(kept);
	}
}
