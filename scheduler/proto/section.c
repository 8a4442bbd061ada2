// SPDX-License-Identifier: BSD-3-Clause
/* section - see section.h. */
#include "scheduler/proto/section.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/file.h"
#include "scheduler/proto/fields.h"
#include "scheduler/proto/slots.h"

#define OPERATORS_MAX 256
#define NS_PER_MS 1000000

static char *port_of(struct fields *fields, const char *name)
{
	int port = (int)fields_number_or(fields, name, 1, 65535, 0);
	char *text = NULL;

	if (port && asprintf(&text, "%d", port) < 0) {
		fields_no_memory(fields);
		return NULL;
	}
	return text;
}

static char *server_of(struct fields *fields, const char *port)
{
	char *host = fields_text(fields, "server", FIELDS_LINE, false), *text;
	int n;

	if (!host)
		return NULL;
	port = port ? port : SECTION_SERVER_PORT;
	n = strchr(host, ':') ? asprintf(&text, "[%s]:%s", host, port)
			      : asprintf(&text, "%s:%s", host, port);
	free(host);
	if (n < 0) {
		fields_no_memory(fields);
		return NULL;
	}
	return text;
}

static char *operators_of(struct fields *fields)
{
	char **names = fields_texts(fields, "operators", FIELDS_NAME, OPERATORS_MAX);
	size_t size = 1;
	char *text;

	for (char **name = names; name && *name; name++)
		size += strlen(*name) + 1;
	text = size > 1 ? calloc(1, size) : NULL;
	if (size > 1 && !text)
		fields_no_memory(fields);
	for (char **name = names; text && *name; name++) {
		strcat(text, name == names ? "" : ",");
		strcat(text, *name);
	}
	if (names)
		fields_texts_free(names);
	return text;
}

int section_read(struct section *ret, const json_t *cluster, char *why, size_t why_size)
{
	struct fields fields = {.from = json_object_get(cluster, "scheduler"),
				.what = "scheduler",
				.why = why,
				.why_size = why_size};
	struct section s = {0};

	if (fields.from) {
		s.port = port_of(&fields, "port");
		s.node_port = port_of(&fields, "node_port");
		s.server = server_of(&fields, s.port);
		s.operators = operators_of(&fields);
		s.state = fields_text(&fields, "state", FIELDS_PATH, true);
		s.checkpoints = fields_text(&fields, "checkpoints", FIELDS_PATH, true);
		s.quantum_ns = (uint64_t)fields_number_or(&fields, "quantum_ms",
							  SLOTS_QUANTUM_MIN_NS / NS_PER_MS,
							  SLOTS_QUANTUM_MAX_NS / NS_PER_MS, 0) *
			       NS_PER_MS;
		s.rows = (uint32_t)fields_number_or(&fields, "rows", 1, SLOTS_ROWS_MAX, 0);
		s.memory = (uint32_t)fields_number_or(&fields, "memory", 1, 100, 0);
	}
	if (fields.err) {
		section_fini(&s);
		return fields.err;
	}
	*ret = s;
	return 0;
}

int section_load(struct section *ret, const char *path, char *why, size_t why_size)
{
	json_t *cluster = cluster_file_load(path, NULL, true, why, why_size);
	char wrong[512];
	int err;

	if (!cluster)
		return -EINVAL;
	err = section_read(ret, cluster, wrong, sizeof(wrong));
	json_decref(cluster);
	if (err)
		snprintf(why, why_size, "%s: %s; write it with 'scconf compile'", path, wrong);
	return err;
}

void section_fini(struct section *section)
{
	free(section->server);
	free(section->port);
	free(section->node_port);
	free(section->operators);
	free(section->state);
	free(section->checkpoints);
	*section = (struct section){0};
}
