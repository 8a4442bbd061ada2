// SPDX-License-Identifier: BSD-3-Clause
/*
 * The text is walked value by value: the keys of the one object, and the items of its array of hosts, each of which
 * is made small before the next one is read. Syntax errors between the values are reported in jansson's words, as
 * those inside of a value are.
 */
#include "pm-ethernet/daemon/clusterfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY)

/* Where we are in the text. */
struct text {
	char *all;
	const char *at, *end;
	const char *host;
	json_error_t error; /* text[0] = 0: none; line counts from the beginning of the file */
};

bool ethd_clusterfile_is_host(const json_t *entry, const char *name)
{
	const char *own = json_string_value(json_object_get(entry, "name"));
	size_t n = strcspn(name, ".");

	return own && (!strcmp(own, name) || (strlen(own) == n && !strncmp(own, name, n)));
}

static int line_of(const struct text *t, const char *place)
{
	int line = 1;

	for (const char *at = t->all; at < place; at++)
		line += *at == '\n';
	return line;
}

static void skip_space(struct text *t)
{
	while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
		t->at++;
}

/* Whether @c is next; it is passed over. */
static bool take(struct text *t, char c)
{
	skip_space(t);
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static void complain(struct text *t, const char *what)
{
	if (t->error.text[0])
		return;
	t->error.line = line_of(t, t->at);
	snprintf(t->error.text, sizeof(t->error.text), "%s", what);
}

static json_t *take_value(struct text *t)
{
	json_error_t error;
	json_t *value;

	skip_space(t);
	value = json_loadb(t->at, (size_t)(t->end - t->at), PIECE, &error);
	if (value) {
		t->at += error.position;
		return value;
	}
	error.line += line_of(t, t->at) - 1;
	t->error = error;
	return NULL;
}

static void make_small(json_t *host)
{
	static const char *const keys[] = {"rails", "address", "pm"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_del(host, keys[i]);
}

static json_t *take_hosts(struct text *t)
{
	json_t *hosts = json_array(), *host;

	if (take(t, ']'))
		return hosts;
	do {
		host = take_value(t);
		if (host && !ethd_clusterfile_is_host(host, t->host))
			make_small(host);
		json_array_append_new(hosts, host);
	} while (host && take(t, ','));
	if (host && take(t, ']'))
		return hosts;
	complain(t, "']' expected");
	json_decref(hosts);
	return NULL;
}

static json_t *take_member(struct text *t, const char *key)
{
	if (!take(t, ':')) {
		complain(t, "':' expected");
		return NULL;
	}
	return !strcmp(key, "hosts") && take(t, '[') ? take_hosts(t) : take_value(t);
}

static json_t *take_members(struct text *t)
{
	json_t *all = json_object(), *key, *value = NULL;

	if (take(t, '}'))
		return all;
	do {
		key = take_value(t);
		if (key && !json_is_string(key))
			complain(t, "string expected");
		value = json_is_string(key) ? take_member(t, json_string_value(key)) : NULL;
		if (value)
			json_object_set_new(all, json_string_value(key), value);
		json_decref(key);
	} while (value && take(t, ','));
	if (value && take(t, '}'))
		return all;
	complain(t, "'}' expected");
	json_decref(all);
	return NULL;
}

static json_t *take_all(struct text *t)
{
	json_t *all = take(t, '{') ? take_members(t) : NULL;

	if (!all)
		complain(t, "'{' expected");
	skip_space(t);
	if (!all || t->at == t->end)
		return all;
	complain(t, "end of file expected");
	json_decref(all);
	return NULL;
}

/* The whole file; 0 or -errno. */
static int read_file(const char *path, char **ret, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	size_t size = 0, room = 0;
	char *all = NULL;
	int err = file ? 0 : -errno;

	while (!err) {
		char *more = size < room ? all : realloc(all, room = room ? 2 * room : 1 << 16);
		size_t n;

		if (!more) {
			err = -ENOMEM;
			break;
		}
		all = more;
		n = fread(all + size, 1, room - size, file);
		size += n;
		if (!n) {
			err = ferror(file) ? -EIO : 0;
			break;
		}
	}
	if (file)
		fclose(file);
	if (err)
		free(all);
	else
		*ret = all, *ret_size = size;
	return err;
}

json_t *ethd_clusterfile_load(const char *path, const char *host, char *why, size_t why_size)
{
	struct text t = {.host = host};
	size_t size = 0;
	json_t *tree;
	int err = read_file(path, &t.all, &size);

	if (err) {
		snprintf(why, why_size, "%s: %s; write it with 'scconf compile'", path,
			 strerror(-err));
		return NULL;
	}
	t.at = t.all;
	t.end = t.all + size;
	tree = take_all(&t);
	if (!tree)
		snprintf(why, why_size, "%s, line %d: %s; write it with 'scconf compile'", path,
			 t.error.line, t.error.text);
	free(t.all);
	return tree;
}
