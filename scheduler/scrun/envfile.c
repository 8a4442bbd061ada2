// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/envfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "scheduler/proto/fields.h"

struct list {
	char **v;
	size_t n;
};

static bool add(struct list *list, char *text)
{
	char **more = text ? reallocarray(list->v, list->n + 2, sizeof(*more)) : NULL;

	if (!more)
		return false;
	list->v = more;
	more[list->n++] = text;
	more[list->n] = NULL;
	return true;
}

static void list_fini(struct list *list)
{
	while (list->n)
		free(list->v[--list->n]);
	free(list->v);
}

/* The fault of a line, in words; NULL: it has none. */
static const char *complaint(const char *line, size_t size)
{
	size_t name = strcspn(line, "=");

	if (strlen(line) != size)
		return "it has a zero byte; wanted is text";
	if (size > FIELDS_TEXT_MAX)
		return "it is longer than 128 KiB";
	if (!name || !line[name] || strcspn(line, " \t") < name)
		return "wanted is NAME=VALUE, or \"#\" and a comment";
	return NULL;
}

static int read_lines(struct list *list, FILE *in, const char *file, char *why, size_t why_size)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int err = 0;

	for (unsigned long number = 1; !err && (n = getline(&line, &room, in)) >= 0; number++) {
		const char *begin = line, *wrong;
		char *text;

		if (n && line[n - 1] == '\n')
			line[--n] = '\0';
		while (*begin == ' ' || *begin == '\t')
			begin++;
		if (*begin == '#' || begin == line + n)
			continue;
		wrong = complaint(begin, (size_t)(line + n - begin));
		text = wrong ? NULL : strdup(begin);
		if (wrong) {
			snprintf(why, why_size, "--env-file %s, line %lu: %s", file, number, wrong);
			err = -EINVAL;
		} else if (!add(list, text)) {
			free(text);
			snprintf(why, why_size, "--env-file %s: no memory", file);
			err = -ENOMEM;
		}
	}
	if (!err && ferror(in)) {
		err = -errno;
		snprintf(why, why_size, "--env-file %s: %s; name a file that can be read", file,
			 strerror(-err));
	}
	free(line);
	return err;
}

static int read_file(struct list *list, const char *file, char *why, size_t why_size)
{
	FILE *in = fopen(file, "re");
	int err;

	if (!in) {
		snprintf(why, why_size, "--env-file %s: %s; name a file that can be read", file,
			 strerror(errno));
		return -EINVAL;
	}
	err = read_lines(list, in, file, why, why_size);
	fclose(in);
	return err;
}

int envfile_put_before(char ***env, const struct words *files, char *why, size_t why_size)
{
	struct list list = {0};
	int err = 0;
	size_t n = 0;
	char **all;

	for (size_t i = 0; !err && i < files->n; i++)
		err = read_file(&list, files->v[i], why, why_size);
	while ((*env)[n])
		n++;
	all = err ? NULL : reallocarray(list.v, list.n + n + 1, sizeof(*all));
	if (!all) {
		list_fini(&list);
		if (!err)
			snprintf(why, why_size, "no memory for the request");
		return err ? err : -ENOMEM;
	}
	memcpy(all + list.n, *env, (n + 1) * sizeof(*all));
	free(*env);
	*env = all;
	return 0;
}
