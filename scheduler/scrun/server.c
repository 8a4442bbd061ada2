/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scrun/server.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *server_with_port(const char *address)
{
	const char *colon = strchr(address, ':'), *bracket = strrchr(address, ']');
	bool is_bare_ipv6 = *address != '[' && colon && strchr(colon + 1, ':');
	char *text;

	if (is_bare_ipv6)
		return asprintf(&text, "[%s]:" SERVER_PORT, address) < 0 ? NULL : text;
	if (*address == '[' && bracket ? bracket[1] == ':' : colon != NULL)
		return strdup(address);
	return asprintf(&text, "%s:" SERVER_PORT, address) < 0 ? NULL : text;
}

/* NULL: the file does not say, or is not there; whoever needs it reports what is wrong with it. */
static char *of_cluster(void)
{
	const char *path = getenv("SCORE_CLUSTER"), *server;
	json_t *file = json_load_file(path && *path ? path : SERVER_CLUSTER, 0, NULL);
	char *text;

	server = json_string_value(json_object_get(json_object_get(file, "scheduler"), "server"));
	text = server && *server ? strdup(server) : NULL;
	json_decref(file);
	return text;
}

char *server_address(const char *option)
{
	const char *environment = getenv("SCORE_SERVER");
	char *found = NULL, *address;

	if (option)
		return server_with_port(option);
	if (environment && *environment)
		return server_with_port(environment);
	found = of_cluster();
	address = server_with_port(found ? found : "localhost");
	free(found);
	return address;
}
