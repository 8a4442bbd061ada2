// SPDX-License-Identifier: BSD-3-Clause
/*
 * The text is walked value by value: the keys of the one object, and the items of its array of
 * hosts, each of which is made small before the next one is read. Syntax errors between the values
 * are reported in jansson's words, as those inside of a value are. scconf replaces the file as a
 * whole, but others copy it. A file that ends too early, or changed while it was read, and was
 * written to just now, is read again when its writer goes on.
 */
#include "cluster/file.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WRITING_S 2  /* no writer pauses longer */
#define READINGS 100 /* of a file that changes again and again */
#define PIECE (JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES)

/* Where we are in the text. */
struct text {
	char *all;
	const char *at, *end;
	const char *host;   /* NULL: none is whole */
	json_error_t error; /* text[0] = 0: none; line counts from the beginning of the file */
	bool is_cut;        /* the error is that there is no more */
};

bool cluster_file_is_host(const json_t *entry, const char *name)
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
	t->is_cut = t->at == t->end;
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
	t->is_cut = error.position < 0 || error.position >= t->end - t->at ||
		    json_error_code(&error) == json_error_premature_end_of_input;
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
		if (host && !(t->host && cluster_file_is_host(host, t->host)))
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

/* Whether @key may be one of @all's. */
static bool take_key(struct text *t, const json_t *all, const json_t *key)
{
	if (key && !json_is_string(key))
		complain(t, "string expected");
	else if (key && json_object_get(all, json_string_value(key)))
		complain(t, "duplicate object key");
	return !t->error.text[0];
}

static json_t *take_members(struct text *t)
{
	json_t *all = json_object(), *key, *value = NULL;

	if (take(t, '}'))
		return all;
	do {
		key = take_value(t);
		value = take_key(t, all, key) ? take_member(t, json_string_value(key)) : NULL;
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

/* Has it been written to between the two looks, or just now? */
static bool is_changing(const struct stat *before, const struct stat *after, bool is_cut)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (before->st_size != after->st_size || before->st_mtim.tv_sec != after->st_mtim.tv_sec ||
	    before->st_mtim.tv_nsec != after->st_mtim.tv_nsec)
		return true;
	return is_cut && now.tv_sec >= after->st_mtim.tv_sec &&
	       now.tv_sec - after->st_mtim.tv_sec <= WRITING_S;
}

/* The whole file, and the looks before and after; 0 or -errno. */
static int read_file(const char *path, struct stat looks[2], char **ret, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	size_t size = 0, room = 0;
	char *all = NULL;
	int err = file && !fstat(fileno(file), &looks[0]) ? 0 : -errno;

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
	if (!err && fstat(fileno(file), &looks[1]))
		err = -errno;
	if (file)
		fclose(file);
	if (err)
		free(all);
	else
		*ret = all, *ret_size = size;
	return err;
}

/* One reading; *ret_is_changing: another may find something else. */
static json_t *load(const char *path, const char *host, bool *ret_is_changing, char *why,
		    size_t why_size)
{
	struct text t = {.host = host};
	struct stat looks[2];
	size_t size = 0;
	json_t *tree;
	int err = read_file(path, looks, &t.all, &size);

	*ret_is_changing = false;
	if (err) {
		snprintf(why, why_size, "%s: %s; write it with 'scconf compile'", path,
			 strerror(-err));
		return NULL;
	}
	t.at = t.all;
	t.end = t.all + size;
	tree = take_all(&t);
	*ret_is_changing = is_changing(&looks[0], &looks[1], !tree && t.is_cut);
	if (!tree)
		snprintf(why, why_size, "%s, line %d: %s; write it with 'scconf compile'", path,
			 t.error.line, t.error.text);
	free(t.all);
	return tree;
}

/* False: nobody writes any more. */
static bool wait_for_writer(int watch)
{
	struct pollfd watched = {.fd = watch, .events = POLLIN};
	char events[4096];

	return poll(&watched, 1, WRITING_S * 1000) == 1 && read(watch, events, sizeof(events)) > 0;
}

json_t *cluster_file_load(const char *path, const char *host, bool may_wait, char *why,
			  size_t why_size)
{
	int watch = may_wait ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	bool is_watched = watch >= 0 && inotify_add_watch(watch, path, IN_MODIFY) >= 0;
	bool is_changing = false;
	json_t *tree;

	for (int n = 1;; n++) {
		tree = load(path, host, &is_changing, why, why_size);
		if (!is_changing || !is_watched || n == READINGS || !wait_for_writer(watch))
			break;
		json_decref(tree);
	}
	if (watch >= 0)
		close(watch);
	return tree;
}
