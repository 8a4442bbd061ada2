// SPDX-License-Identifier: BSD-3-Clause
/*
 * order - see order.h. The JSON has the fields of struct order under their names; key is 16
 * hexadecimal digits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/gang/box.h"
#include "scheduler/proto/fields.h"
#include "scheduler/proto/host.h"
#include "scheduler/proto/order.h"

#define CLUSTER_MAX 128 /* characters, so that a namespace has room for the numbers behind it */

/*
 * --- decoding -----------------------------------------------------------------------------------
 */

static void decode_cores(struct fields *fields, struct order_host *host)
{
	const json_t *array = fields_array(fields, "cores", 1, HOST_CORES_MAX);
	uint64_t seen[HOST_CORES_MAX / 64] = {0};
	size_t n = json_array_size(array);

	if (fields->err)
		return;
	host->cores = calloc(n, sizeof(*host->cores));
	if (!host->cores) {
		fields_no_memory(fields);
		return;
	}
	host->n_cores = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(array, i);
		json_int_t core = json_integer_value(value);

		if (!json_is_integer(value) || core < 0 || core >= HOST_CORES_MAX ||
		    seen[core / 64] >> core % 64 & 1) {
			fields_wrong(fields, "cores must be different numbers below %d",
				     HOST_CORES_MAX);
			return;
		}
		seen[core / 64] |= 1ull << core % 64;
		host->cores[i] = (uint32_t)core;
	}
}

/* Of all hosts of an order or of none. */
static void decode_at(struct fields *fields, struct order_host *host, uint32_t n_dims)
{
	const json_t *array = n_dims ? fields_array(fields, "at", n_dims, n_dims) : NULL, *value;
	size_t d;

	json_array_foreach(array, d, value) {
		json_int_t at = json_integer_value(value);

		if (!json_is_integer(value) || at < 0 || at >= BOX_LINE_MAX)
			fields_wrong(fields, "at must be numbers below %d", BOX_LINE_MAX);
		else
			host->at[d] = (uint32_t)at;
	}
}

static void decode_host(struct fields *fields, struct order_host *host, uint32_t n_dims,
			const json_t *from)
{
	struct fields inner = *fields;

	inner.from = from;
	inner.what = "order's host";
	host->name = fields_text(&inner, "name", FIELDS_NAME, false);
	host->address = fields_text(&inner, "address", FIELDS_LINE, false);
	host->first = (uint32_t)fields_number(&inner, "first", 0, JOB_RANKS_MAX - 1);
	host->ranks = (uint32_t)fields_number(&inner, "ranks", 1, ORDER_HOST_RANKS_MAX);
	decode_cores(&inner, host);
	decode_at(&inner, host, n_dims);
	fields->err = inner.err;
}

static void decode_hosts(struct fields *fields, struct order *order)
{
	const json_t *array = fields_array(fields, "hosts", 1, JOB_RANKS_MAX);
	size_t n = json_array_size(array);
	uint64_t first = 0;

	if (fields->err)
		return;
	order->hosts = calloc(n, sizeof(*order->hosts));
	if (!order->hosts) {
		fields_no_memory(fields);
		return;
	}
	order->n_hosts = n;
	for (size_t i = 0; i < n && !fields->err; i++) {
		decode_host(fields, &order->hosts[i], order->n_dims, json_array_get(array, i));
		if (order->hosts[i].first != first)
			fields_wrong(fields, "hosts must hold consecutive ranks from 0");
		first += order->hosts[i].ranks;
	}
	if (first != order->job->ranks)
		fields_wrong(fields, "its hosts hold %llu ranks, its job has %u",
			     (unsigned long long)first, order->job->ranks);
	order->here = (size_t)fields_number(fields, "here", 0, (int64_t)n - 1);
}

static void decode_job(struct fields *fields, struct order *order)
{
	if (!fields->err)
		fields->err = job_decode(&order->job, json_object_get(fields->from, "job"),
					 fields->why, fields->why_size);
}

int order_decode(struct order **ret, const json_t *from, char *why, size_t why_size)
{
	struct fields fields = {.from = from, .what = "order", .why = why, .why_size = why_size};
	struct order *order = calloc(1, sizeof(*order));

	if (!order) {
		fields_no_memory(&fields);
		return fields.err;
	}
	order->id = (uint64_t)fields_number(&fields, "id", 1, INT64_MAX);
	order->key = fields_bits(&fields, "key");
	order->incarnation = (uint32_t)fields_number_or(&fields, "incarnation", 0, UINT32_MAX, 0);
	order->uid = (uid_t)fields_number(&fields, "uid", 0, UINT32_MAX - 1);
	order->gid = (gid_t)fields_number(&fields, "gid", 0, UINT32_MAX - 1);
	order->cluster = fields_text(&fields, "cluster", FIELDS_NAME, false);
	if (order->cluster && strlen(order->cluster) > CLUSTER_MAX)
		fields_wrong(&fields, "cluster must have at most %d characters", CLUSTER_MAX);
	order->n_dims = (uint32_t)fields_number_or(&fields, "n_dims", 0, BOX_DIMS, 0);
	decode_job(&fields, order);
	decode_hosts(&fields, order);
	if (fields.err) {
		order_free(order);
		return fields.err;
	}
	*ret = order;
	return 0;
}

int order_decode_text(struct order **ret, const char *text, size_t size, json_t *here, char *why,
		      size_t why_size)
{
	json_error_t error;
	json_t *from = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	int err;

	if (!from) {
		/* Without memory the parser says nothing, or something else. */
		snprintf(why, why_size, "order: %s", *error.text ? error.text : "no memory");
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EINVAL;
	}
	/* Where there is none now, order_decode() misses it. */
	json_object_del(from, "here");
	json_object_set(from, "here", here);
	err = order_decode(ret, from, why, why_size);
	json_decref(from);
	return err;
}

/*
 * --- encoding -----------------------------------------------------------------------------------
 */

static json_t *encode_cores(const struct order_host *host)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < host->n_cores; i++) {
		if (json_array_append_new(array, json_integer(host->cores[i]))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* NULL: there is nothing, or no memory. */
static json_t *encode_at(const struct order_host *host, uint32_t n_dims)
{
	json_t *array = n_dims ? json_array() : NULL;

	for (uint32_t d = 0; array && d < n_dims; d++)
		json_array_append_new(array, json_integer(host->at[d]));
	return array;
}

static json_t *encode_hosts(const struct order *order)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < order->n_hosts; i++) {
		const struct order_host *host = &order->hosts[i];

		if (json_array_append_new(array, json_pack("{s:o*, s:s, s:s, s:I, s:I, s:o}", "at",
							   encode_at(host, order->n_dims), "name",
							   host->name, "address", host->address,
							   "first", (json_int_t)host->first,
							   "ranks", (json_int_t)host->ranks,
							   "cores", encode_cores(host)))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *order_encode(const struct order *order, size_t here)
{
	return json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:s, s:I, s:o, s:o}", "n_dims",
			 (json_int_t)order->n_dims, "id", (json_int_t)order->id, "key",
			 fields_from_bits(order->key), "incarnation",
			 (json_int_t)order->incarnation, "uid", (json_int_t)order->uid, "gid",
			 (json_int_t)order->gid, "cluster", order->cluster, "here",
			 (json_int_t)here, "hosts", encode_hosts(order), "job",
			 job_encode(order->job));
}

struct shared *order_encode_text(const struct order *order)
{
	json_t *json = order_encode(order, 0);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return shared_new(text, text ? strlen(text) : 0);
}

void order_free(struct order *order)
{
	if (!order)
		return;
	for (size_t i = 0; i < order->n_hosts; i++) {
		free(order->hosts[i].name);
		free(order->hosts[i].address);
		free(order->hosts[i].cores);
	}
	free(order->hosts);
	free(order->cluster);
	job_free(order->job);
	free(order);
}

void order_namespace(const struct order *order, uint32_t world, char *to, size_t size)
{
	int n = snprintf(to, size, "%s.%llu.%u", order->cluster, (unsigned long long)order->id,
			 order->incarnation);

	if (world && n > 0 && (size_t)n < size)
		snprintf(to + n, size - (size_t)n, ".%u", world);
}
