// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/dry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/host.h"

/* One host of the answer. */
struct dry_host {
	const char *name;
	uint32_t first, ranks;
	const json_t *cores, *cpus;
	bool is_bound; /* each rank to cores of its own */
};

static bool read_host(const json_t *head, const struct job *job, const char *name, size_t h,
		      uint32_t first, struct dry_host *ret)
{
	json_int_t ranks = json_integer_value(json_array_get(json_object_get(head, "ranks"), h));
	size_t n;

	*ret = (struct dry_host){.name = name,
				 .first = first,
				 .ranks = (uint32_t)ranks,
				 .cores = json_array_get(json_object_get(head, "cores"), h),
				 .cpus = json_array_get(json_object_get(head, "cpus"), h)};
	n = json_array_size(ret->cores);
	if (ranks <= 0 || ranks > (json_int_t)(job->ranks - first) || !n || n > HOST_CORES_MAX ||
	    json_array_size(ret->cpus) > HOST_CORES_MAX)
		return false;
	/* As scstepd binds them: to cores of their own if there are enough for all. */
	ret->is_bound = job->bind == JOB_BIND_CORE && n / job->cores >= ret->ranks &&
			json_array_size(ret->cpus) == n;
	return true;
}

/* Those of a rank of that host: its own, or all. */
static json_t *part_of(const json_t *all, const struct dry_host *host, const struct job *job,
		       uint32_t local)
{
	json_t *part = json_array();
	size_t first = host->is_bound ? (size_t)local * job->cores : 0;
	size_t n = host->is_bound ? job->cores : json_array_size(all);

	for (size_t i = first; i < first + n; i++)
		json_array_append(part, json_array_get(all, i));
	return part;
}

static void add_ranks(json_t *ranks, const struct dry_host *host, const struct job *job)
{
	for (uint32_t i = 0; i < host->ranks; i++)
		json_array_append_new(
			ranks, json_pack("{s:I, s:s, s:b, s:o, s:o}", "rank",
					 (json_int_t)(host->first + i), "host", host->name, "bound",
					 job->bind != JOB_BIND_NONE && json_array_size(host->cpus),
					 "cores", part_of(host->cores, host, job, i), "cpus",
					 part_of(host->cpus, host, job, i)));
}

static json_t *ranks_of(const json_t *head, const struct job *job, char *const *names)
{
	json_t *ranks = json_array();
	uint32_t first = 0;
	struct dry_host host;

	for (size_t h = 0; ranks && names[h]; h++) {
		if (!read_host(head, job, names[h], h, first, &host)) {
			json_decref(ranks);
			return NULL;
		}
		add_ranks(ranks, &host, job);
		first += host.ranks;
	}
	return ranks;
}

json_t *dry_ranks(const json_t *head, const struct job *job)
{
	char why[256];
	struct fields fields = {
		.from = head, .what = "answer", .why = why, .why_size = sizeof(why)};
	char **names = fields_texts(&fields, "hosts", FIELDS_NAME, JOB_RANKS_MAX);
	json_t *ranks = names ? ranks_of(head, job, names) : NULL;

	fields_texts_free(names);
	return ranks;
}

/* "0-3,6" */
static void print_list(FILE *out, const json_t *numbers)
{
	size_t n = json_array_size(numbers);

	for (size_t i = 0, run; i < n; i += run) {
		json_int_t first = json_integer_value(json_array_get(numbers, i));

		for (run = 1; i + run < n; run++)
			if (json_integer_value(json_array_get(numbers, i + run)) !=
			    first + (json_int_t)run)
				break;
		fprintf(out, "%s%" JSON_INTEGER_FORMAT, i ? "," : "", first);
		if (run > 1)
			fprintf(out, "-%" JSON_INTEGER_FORMAT, first + (json_int_t)run - 1);
	}
}

static void print_hosts(FILE *out, const json_t *head)
{
	const json_t *hosts = json_object_get(head, "hosts"), *name;
	json_int_t first = 0;
	size_t h;

	json_array_foreach(hosts, h, name) {
		json_int_t ranks =
			json_integer_value(json_array_get(json_object_get(head, "ranks"), h));

		fprintf(out,
			ranks > 1 ? "%s: ranks %" JSON_INTEGER_FORMAT "-%" JSON_INTEGER_FORMAT
				  : "%s: rank %" JSON_INTEGER_FORMAT,
			json_string_value(name), first, first + ranks - 1);
		fputs(", cores ", out);
		print_list(out, json_array_get(json_object_get(head, "cores"), h));
		putc('\n', out);
		first += ranks;
	}
}

static void print_ranks(FILE *out, const json_t *ranks)
{
	const json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank) {
		fprintf(out, "rank %zu on %s: ", i,
			json_string_value(json_object_get(rank, "host")));
		if (!json_is_true(json_object_get(rank, "bound"))) {
			fputs("not bound\n", out);
			continue;
		}
		fputs("cpu ", out);
		print_list(out, json_object_get(rank, "cpus"));
		putc('\n', out);
	}
}

static json_t *hosts_of(const json_t *head)
{
	const json_t *names = json_object_get(head, "hosts"), *name;
	json_t *hosts = json_array();
	size_t h;

	json_array_foreach(names, h, name)
		json_array_append_new(
			hosts, json_pack("{s:O, s:O*, s:O*, s:O*}", "name", name, "ranks",
					 json_array_get(json_object_get(head, "ranks"), h), "cores",
					 json_array_get(json_object_get(head, "cores"), h), "cpus",
					 json_array_get(json_object_get(head, "cpus"), h)));
	return hosts;
}

int dry_print(FILE *out, const json_t *head, const struct job *job, bool is_json)
{
	json_t *ranks = dry_ranks(head, job), *waits = json_object_get(head, "waits"), *all;
	int err = 0;

	if (!ranks)
		return -EINVAL;
	if (!is_json) {
		print_hosts(out, head);
		print_ranks(out, ranks);
		json_decref(ranks);
		return 0;
	}
	all = json_pack("{s:o, s:o, s:O?}", "hosts", hosts_of(head), "ranks", ranks, "waits",
			waits);
	if (!all || json_dumpf(all, out, JSON_COMPACT | JSON_ENSURE_ASCII))
		err = -ENOMEM;
	putc('\n', out);
	json_decref(all);
	return err;
}
