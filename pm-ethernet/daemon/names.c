// SPDX-License-Identifier: BSD-3-Clause
/* One piece of memory for all, as there may be 65536. */
#include "pm-ethernet/daemon/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/daemon/topology.h"

static const char *name_of(const json_t *host)
{
	const char *name = json_string_value(json_object_get(host, "name"));

	return name ? name : "";
}

int ethd_names_read(const json_t *hosts, struct ethd_names *ret)
{
	struct ethd_names names = {.n = (uint32_t)json_array_size(hosts)};
	const json_t *host;
	size_t i, bytes = 1, used = 1;

	json_array_foreach(hosts, i, host)
		bytes += strlen(name_of(host)) + 1;
	names.at = calloc(names.n ? names.n : 1, sizeof(*names.at));
	names.text = malloc(bytes);
	if (!names.at || !names.text) {
		ethd_names_free(&names);
		return -ENOMEM;
	}
	names.text[0] = 0;
	json_array_foreach(hosts, i, host) {
		json_int_t id = json_integer_value(json_object_get(host, "id"));
		size_t size = strlen(name_of(host)) + 1;

		if (id < 0 || id >= (json_int_t)names.n)
			continue;
		names.at[id] = (uint32_t)used;
		memcpy(names.text + used, name_of(host), size);
		used += size;
	}
	*ret = names;
	return 0;
}

void ethd_names_free(struct ethd_names *names)
{
	free(names->at);
	free(names->text);
	*names = (struct ethd_names){0};
}

const char *ethd_names_of(const struct ethd_names *names, uint32_t id)
{
	return id && id <= names->n ? names->text + names->at[id - 1] : "";
}

uint32_t ethd_names_find(const struct ethd_names *names, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t id = 1; n && id <= names->n; id++) {
		const char *one = ethd_names_of(names, id);

		if (!strncmp(one, name, n) && (!one[n] || one[n] == '.'))
			return id;
	}
	return 0;
}
