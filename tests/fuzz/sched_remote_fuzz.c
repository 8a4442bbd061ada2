// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a message to scremote: what is let through stays inside what the agent counts on;
 * else a sentence.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/link.h"
#include "scheduler/scremote/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_run(const struct message *m)
{
	require(m->argv && m->argv[0] && m->env);
	require(!m->directory || m->directory[0] == '/');
	for (size_t i = 0; m->env[i]; i++)
		require(m->env[i][0] != '=' && strchr(m->env[i], '=') != NULL);
}

static void check_put(const struct message *m)
{
	require(m->path[0] && strlen(m->path) < PATH_MAX && m->mode <= 07777);
	require(m->size <= INT64_MAX && m->mtime_ns >= -1);
	require(strlen(m->sha256) == MESSAGE_SHA256_CHARS);
	for (size_t i = 0; i < m->n_children; i++) {
		const struct message_child *child = &m->children[i];

		require(child->address && child->address[0]);
		require(json_is_array(child->children) && json_array_size(child->hosts) >= 1);
		require(json_array_size(child->hosts) <= MESSAGE_TREE_MAX);
	}
}

static void check(const struct message *m)
{
	require(m->id || m->kind == MESSAGE_DOOR_WANTED);
	if (m->kind == MESSAGE_RUN)
		check_run(m);
	else if (m->kind == MESSAGE_PUT)
		check_put(m);
	else if (m->kind == MESSAGE_GET)
		require(m->path && m->path[0] && strlen(m->path) < PATH_MAX);
	else if (m->kind == MESSAGE_SIGNAL)
		require(m->signal > 0 && m->signal < NSIG);
	else if (m->kind == MESSAGE_IN_ROOM || m->kind == MESSAGE_OUT_ROOM)
		require(m->bytes > 0 && m->bytes <= LINK_FULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	const char *op = json_string_value(json_object_get(from, "op"));
	char why[128] = "";
	struct message m;
	int err;

	/* frame.h lets nothing else through. */
	if (!op) {
		json_decref(from);
		return 0;
	}
	err = message_decode(&m, op, from, why, sizeof(why));
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err)
		require((err == -EINVAL || err == -ENOTSUP) && why[0]);
	else
		check(&m);
	message_free(&m);
	json_decref(from);
	return 0;
}
