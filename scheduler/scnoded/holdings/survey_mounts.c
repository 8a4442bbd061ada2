// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/holdings/survey_inside.h"

#define MOUNTS_MAX 65536

static int compare_mounts(const void *a, const void *b)
{
	const struct procline_mount *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static bool add_mount(struct survey *s, size_t *room, struct procline_mount mount)
{
	if (s->n_mounts == *room) {
		size_t more = *room ? 2 * *room : 64;
		void *grown = more > MOUNTS_MAX ? NULL
						: realloc(s->mounts, more * sizeof(*s->mounts));

		if (!grown) {
			holdings_trouble(s->holdings,
					 "there are more than %zu mounts; unmount some", *room);
			return false;
		}
		s->mounts = grown;
		*room = more;
	}
	s->mounts[s->n_mounts++] = mount;
	return true;
}

void survey_mounts(struct survey *s)
{
	const struct held_process *root = s->holdings->processes;
	struct procline_mount mount;
	size_t room = 0, size = 0;
	char path[64], *line = NULL;
	FILE *file;

	/* There is trouble already; or a zombie, which has none. */
	if (!s->holdings->n_processes || root->state == 'Z' || root->state == 'X')
		return;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", root->pid);
	file = fopen(path, "re");
	if (!file)
		holdings_trouble(s->holdings, "its mounts can't be read: %s; try again",
				 strerror(errno));
	while (file && getline(&line, &size, file) > 0)
		if (procline_mount(line, &mount) && !add_mount(s, &room, mount))
			break;
	if (file)
		fclose(file);
	free(line);
	if (s->n_mounts)
		qsort(s->mounts, s->n_mounts, sizeof(*s->mounts), compare_mounts);
}

const struct procline_mount *survey_mount(const struct survey *s, int id)
{
	struct procline_mount key = {.id = id};

	return s->n_mounts ? bsearch(&key, s->mounts, s->n_mounts, sizeof(key), compare_mounts)
			   : NULL;
}

void survey_forget_mounts(struct survey *s)
{
	free(s->mounts);
	s->mounts = NULL;
	s->n_mounts = 0;
}
