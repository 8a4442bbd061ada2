// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/network.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 5

static const char *const devices[DEVICES] = {"self", "shmem", "verbs", "ethernet", "udp"};

static int device_of(const char *name, size_t length)
{
	for (int i = 0; i < DEVICES; i++)
		if (strlen(devices[i]) == length && !strncmp(devices[i], name, length))
			return i;
	return -1;
}

static const struct cluster_network *find(const struct cluster *c, const char *name, size_t length)
{
	for (size_t i = 0; c && i < c->n_networks; i++)
		if (strlen(c->networks[i].name) == length &&
		    !strncmp(c->networks[i].name, name, length))
			return &c->networks[i];
	return NULL;
}

static void say_unknown(const struct cluster *c, const char *name, size_t length, char *why,
			size_t why_size)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		snprintf(why, why_size, "scored has no memory");
		return;
	}
	fprintf(out, "network %.*s: ", (int)(length > 64 ? 64 : length), name);
	if (c && c->n_networks) {
		fputs("no network of the cluster, which has ", out);
		for (size_t i = 0; i < c->n_networks; i++)
			fprintf(out, "%s%s", i ? ", " : "", c->networks[i].name);
		fputs("; nor a device of PM: ", out);
	} else {
		fprintf(out, "%s, and it is no device of PM: ",
			c ? "the cluster's file names no network"
			  : "this scored has no cluster.json (--config) that names networks");
	}
	for (int i = 0; i < DEVICES; i++)
		fprintf(out, "%s%s", i ? ", " : "", devices[i]);
	if (!fclose(out))
		snprintf(why, why_size, "%s", text);
	free(text);
}

/* Which devices in which order: each once. */
struct choice {
	int order[DEVICES];
	int n;
};

static void choose(struct choice *choice, int device)
{
	for (int i = 0; i < choice->n; i++)
		if (choice->order[i] == device)
			return;
	choice->order[choice->n++] = device;
}

static char *text_of(const struct choice *choice)
{
	char text[64] = "";

	for (int i = 0; i < choice->n; i++) {
		strcat(text, i ? "+" : "");
		strcat(text, devices[choice->order[i]]);
	}
	return strdup(text);
}

char *network_devices(const struct cluster *c, const char *request, char *why, size_t why_size)
{
	struct choice named = {.n = 0}, joined = {.order = {0, 1}, .n = 2};
	bool is_networks = true;
	char *text;

	for (const char *at = request; at; at = strchr(at, '+'), at += at != NULL) {
		size_t length = strcspn(at, "+");
		const struct cluster_network *network = find(c, at, length);
		int device = network ? device_of(network->type, strlen(network->type))
				     : device_of(at, length);

		if (device < 0) {
			say_unknown(c, at, length, why, why_size);
			return NULL;
		}
		is_networks = is_networks && network;
		choose(&named, device);
		choose(&joined, device);
	}
	text = text_of(is_networks ? &joined : &named);
	if (!text)
		snprintf(why, why_size, "scored has no memory");
	return text;
}
