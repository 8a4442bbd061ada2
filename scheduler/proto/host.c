// SPDX-License-Identifier: BSD-3-Clause
/* host - see host.h. The JSON has the fields of struct host under their names. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/host.h"

static const char *const cgroups_names[] = {"v2", "v1", "hybrid", "none", NULL};

static char *decode_cgroups(struct fields *fields)
{
	char *text = fields_text(fields, "cgroups", FIELDS_NAME, false);

	if (text)
		fields_choice(fields, "cgroups", cgroups_names);
	return text;
}

int host_decode(struct host **ret, const json_t *from, char *why, size_t why_size)
{
	struct fields fields = {.from = from, .what = "host", .why = why, .why_size = why_size};
	struct host *host = calloc(1, sizeof(*host));

	if (!host) {
		fields_no_memory(&fields);
		return fields.err;
	}
	host->name = fields_text(&fields, "name", FIELDS_NAME, false);
	host->address = fields_text(&fields, "address", FIELDS_LINE, false);
	host->version = fields_text(&fields, "version", FIELDS_LINE, false);
	host->kernel = fields_text(&fields, "kernel", FIELDS_LINE, false);
	host->cgroups = decode_cgroups(&fields);
	host->is_realtime = fields_flag(&fields, "is_realtime");
	host->n_cores = (uint32_t)fields_number(&fields, "n_cores", 1, HOST_CORES_MAX);
	host->memory = (uint64_t)fields_number(&fields, "memory", 0, INT64_MAX);
	host->clock_ns = (uint64_t)fields_number(&fields, "clock_ns", 0, INT64_MAX);
	host->pm = fields_text(&fields, "pm", FIELDS_NOTE, false);
	host->cpus = fields_text(&fields, "cpus", FIELDS_NOTE, true);
	if (fields.err) {
		host_free(host);
		return fields.err;
	}
	*ret = host;
	return 0;
}

json_t *host_encode(const struct host *host)
{
	return json_pack("{s:s*, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:o}", "cpus",
			 host->cpus, "name", host->name, "address", host->address, "version",
			 host->version, "kernel", host->kernel, "cgroups", host->cgroups,
			 "is_realtime", (int)host->is_realtime, "n_cores",
			 (json_int_t)host->n_cores, "memory", (json_int_t)host->memory, "clock_ns",
			 (json_int_t)host->clock_ns, "pm", fields_from_text(host->pm));
}

void host_free(struct host *host)
{
	if (!host)
		return;
	free(host->name);
	free(host->address);
	free(host->version);
	free(host->kernel);
	free(host->cgroups);
	free(host->cpus);
	free(host->pm);
	free(host);
}
