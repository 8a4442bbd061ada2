/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scremote/message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"

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

	if (env && !json_is_object(env))
		fields_wrong(run, "env must be an object of texts");
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
	fields_array(fields, "argv", 1, MESSAGE_ARGUMENTS_MAX);
	m->argv = fields_texts(fields, "argv", FIELDS_BYTES, MESSAGE_ARGUMENTS_MAX);
	m->directory = fields_text(fields, "directory", FIELDS_PATH, true);
	m->env = variables(fields);
	m->has_stdin = fields_flag(fields, "stdin");
	m->is_directory_needed = fields_flag(fields, "is_directory_needed");
	m->merges_stderr = fields_flag(fields, "merge_stderr");
}

/* ---- all ---- */

static void take_nothing(struct message *m, struct fields *fields)
{
	(void)m;
	(void)fields;
}

static void take_room(struct message *m, struct fields *fields)
{
	m->bytes = (size_t)fields_number(fields, "bytes", 1, LINK_FULL);
}

static void take_signal(struct message *m, struct fields *fields)
{
	m->signal = (int)fields_number(fields, "signal", 1, NSIG - 1);
}

static const struct {
	const char *op;
	enum message_kind kind;
	void (*take)(struct message *m, struct fields *fields);
} kinds[] = {
	{OP_PING, MESSAGE_PING, take_nothing},    {OP_RUN, MESSAGE_RUN, take_run},
	{OP_IN, MESSAGE_IN, take_nothing},        {OP_OUT_ROOM, MESSAGE_OUT_ROOM, take_room},
	{OP_SIGNAL, MESSAGE_SIGNAL, take_signal},
};

int message_decode(struct message *ret, const char *op, const json_t *head, char *why,
		   size_t why_size)
{
	struct fields fields = {.from = head, .what = op, .why = why, .why_size = why_size};

	*ret = (struct message){0};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(op, kinds[i].op) != 0)
			continue;
		ret->kind = kinds[i].kind;
		ret->id = (uint64_t)fields_number(&fields, "id", 1, INT64_MAX);
		kinds[i].take(ret, &fields);
		return fields.err;
	}
	snprintf(why, why_size, "\"%.40s\" is no message that this version knows", op);
	return -ENOTSUP;
}

void message_free(struct message *message)
{
	fields_texts_free(message->argv);
	fields_texts_free(message->env);
	free(message->directory);
	*message = (struct message){0};
}
