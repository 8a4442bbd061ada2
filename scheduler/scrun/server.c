// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/server.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/section.h"

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
	const char *path = getenv("SCORE_CLUSTER");
	struct section section;
	char why[256], *text;

	if (section_load(&section, path && *path ? path : SERVER_CLUSTER, why, sizeof(why)))
		return NULL;
	text = section.server ? strdup(section.server) : NULL;
	section_fini(&section);
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
