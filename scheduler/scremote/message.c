// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/message.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages_check.h"

/* ---- a run ---- */

static char *variable(struct fields *fields, const char *name)
{
	char *value, *text = NULL;

	if (!*name || strchr(name, '='))
		fields_wrong(fields, "\"%.40s\" is no name of a variable", name);
	value = fields_text(fields, name, FIELDS_BYTES, false);
	if (value && asprintf(&text, "%s=%s", name, value) < 0) {
		text = NULL;
		fields_no_memory(fields);
	}
	free(value);
	return text;
}

static char **variables(struct fields *run)
{
	const json_t *env = json_object_get(run->from, "env"), *value;
	struct fields fields = {
		.from = env, .what = "env", .why = run->why, .why_size = run->why_size};
	size_t n = 0;
	const char *name;
	char **texts;

	if (run->err)
		return NULL;
	texts = calloc(json_object_size(env) + 1, sizeof(*texts));
	if (!texts) {
		fields_no_memory(run);
		return NULL;
	}
	json_object_foreach((json_t *)(uintptr_t)env, name, value)
		texts[n++] = variable(&fields, name);
	run->err = fields.err;
	if (!fields.err)
		return texts;
	while (n--)
		free(texts[n]);
	free(texts);
	return NULL;
}

static void take_run(struct message *m, struct fields *fields)
{
	m->argv = fields_texts(fields, "argv", FIELDS_BYTES, MESSAGE_ARGUMENTS_MAX);
	m->directory = fields_text(fields, "directory", FIELDS_PATH, true);
	m->env = variables(fields);
	m->has_stdin = fields_flag(fields, "stdin");
	m->is_directory_needed = fields_flag(fields, "is_directory_needed");
	m->merges_stderr = fields_flag(fields, "merge_stderr");
}

/* ---- files ---- */

static void take_path(struct message *m, struct fields *fields)
{
	size_t length;

	m->path = fields_text(fields, "path", FIELDS_BYTES, false);
	length = m->path ? strlen(m->path) : 1;
	if (!length || length >= PATH_MAX)
		fields_wrong(fields, "path must have 1 to %d bytes", PATH_MAX - 1);
}

static void take_sha256(struct message *m, struct fields *fields)
{
	m->sha256 = fields_text(fields, "sha256", FIELDS_NAME, false);
	if (m->sha256 && (strlen(m->sha256) != MESSAGE_SHA256_CHARS ||
			  strspn(m->sha256, "0123456789abcdef") != MESSAGE_SHA256_CHARS))
		fields_wrong(fields, "sha256 must be %d hexadecimal digits", MESSAGE_SHA256_CHARS);
}

/* Adds the names of the host @from and of all below it to @hosts. */
static void take_hosts(struct fields *fields, const json_t *from, json_t *hosts, size_t depth)
{
	const json_t *children, *child;
	char *name, *address;
	size_t i;

	fields->from = from;
	children = fields_array(fields, "children", 0, MESSAGE_TREE_MAX);
	name = fields_text(fields, "host", FIELDS_NAME, false);
	address = fields_text(fields, "address", FIELDS_LINE, false);
	if (depth == MESSAGE_TREE_DEPTH_MAX || json_array_size(hosts) == MESSAGE_TREE_MAX)
		fields_wrong(fields, "the tree has more than %d hosts or is deeper than %d",
			     MESSAGE_TREE_MAX, MESSAGE_TREE_DEPTH_MAX);
	if (!fields->err && json_array_append_new(hosts, json_string(name)))
		fields_no_memory(fields);
	free(name);
	free(address);
	json_array_foreach(children, i, child) {
		if (fields->err)
			return;
		take_hosts(fields, child, hosts, depth + 1);
	}
}

static void take_child(struct message_child *child, struct fields *fields, json_t *from)
{
	const json_t *below;

	child->hosts = json_array();
	if (!child->hosts)
		fields_no_memory(fields);
	take_hosts(fields, from, child->hosts, 0);
	fields->from = from;
	child->address = fields_text(fields, "address", FIELDS_LINE, false);
	below = fields_array(fields, "children", 0, MESSAGE_TREE_MAX);
	child->children = below ? json_incref((json_t *)(uintptr_t)below) : json_array();
}

static void take_children(struct message *m, struct fields *fields)
{
	const json_t *array = fields_array(fields, "children", 0, MESSAGE_TREE_MAX), *put;
	size_t n = json_array_size(array);

	if (!n)
		return;
	m->children = calloc(n, sizeof(*m->children));
	if (!m->children) {
		fields_no_memory(fields);
		return;
	}
	put = fields->from;
	for (; m->n_children < n && !fields->err; m->n_children++)
		take_child(&m->children[m->n_children], fields,
			   json_array_get(array, m->n_children));
	fields->from = put;
}

static void take_put(struct message *m, struct fields *fields)
{
	take_path(m, fields);
	m->mode = (mode_t)head_number(fields->from, "mode");
	m->size = head_number(fields->from, "size");
	m->mtime_ns = json_object_get(fields->from, "mtime_ns")
			      ? (int64_t)head_number(fields->from, "mtime_ns")
			      : -1;
	take_sha256(m, fields);
	take_children(m, fields);
}

static void free_children(struct message *m)
{
	for (size_t i = 0; i < m->n_children; i++) {
		free(m->children[i].address);
		json_decref(m->children[i].children);
		json_decref(m->children[i].hosts);
	}
	free(m->children);
}

/* ---- all ---- */

static void take_nothing(struct message *m, struct fields *fields)
{
	(void)m;
	(void)fields;
}

static void take_room(struct message *m, struct fields *fields)
{
	m->bytes = (size_t)head_number(fields->from, "bytes");
}

static void take_signal(struct message *m, struct fields *fields)
{
	m->signal = (int)head_number(fields->from, "signal");
}

/* Of every message of MESSAGES_SCOUT_TO_SCREMOTE. */
static const struct {
	enum message_kind kind;
	void (*take)(struct message *m, struct fields *fields);
} kinds[MESSAGES_OPS] = {
	[ON_PING] = {MESSAGE_PING, take_nothing},
	[ON_RUN] = {MESSAGE_RUN, take_run},
	[ON_IN] = {MESSAGE_IN, take_nothing},
	[ON_OUT_ROOM] = {MESSAGE_OUT_ROOM, take_room},
	[ON_SIGNAL] = {MESSAGE_SIGNAL, take_signal},
	[ON_PUT] = {MESSAGE_PUT, take_put},
	[ON_DATA] = {MESSAGE_DATA, take_nothing},
	[ON_IN_ROOM] = {MESSAGE_IN_ROOM, take_room},
	[ON_GET] = {MESSAGE_GET, take_path},
	[ON_DOOR_WANTED] = {MESSAGE_DOOR_WANTED, take_nothing},
};

int message_decode(struct message *ret, const char *op, const json_t *head, char *why,
		   size_t why_size)
{
	const struct messages_entry *entry = messages_find(MESSAGES_SCOUT_TO_SCREMOTE, op);
	struct fields fields = {.from = head, .what = op, .why = why, .why_size = why_size};
	int said = messages_check(MESSAGES_SCOUT_TO_SCREMOTE, head, why, why_size);

	*ret = (struct message){0};
	/* A message that is refused is answered by its id, too. */
	if (entry) {
		ret->kind = kinds[entry->op].kind;
		ret->id = ret->kind == MESSAGE_DOOR_WANTED ? 0 : head_number(head, "id");
	}
	if (said < 0)
		return said;
	kinds[said].take(ret, &fields);
	return fields.err;
}

void message_free(struct message *message)
{
	fields_texts_free(message->argv);
	fields_texts_free(message->env);
	free(message->directory);
	free(message->path);
	free(message->sha256);
	free_children(message);
	*message = (struct message){0};
}
