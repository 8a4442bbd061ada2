// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/pmi1_line.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int add(struct pmi1_line *line, char *word)
{
	char *value = strchr(word, '=');

	if (!value || value == word)
		return -EPROTO;
	*value++ = '\0';
	if (!line->command) {
		if (strcmp(word, "cmd") && strcmp(word, "mcmd"))
			return -EPROTO;
		line->command = value;
		return 0;
	}
	if (line->n == PMI1_WORDS_MAX || pmi1_line_get(line, word))
		return -EPROTO;
	line->words[line->n++] = (struct pmi1_word){.name = word, .value = value};
	return 0;
}

/* MPICH 4.1 and later say why they abort, in words for people, at the end of the line. */
static bool is_free_text(const struct pmi1_line *line, const char *word)
{
	return line->command && !strcmp(line->command, "abort") &&
	       !strncmp(word, "message=", strlen("message="));
}

int pmi1_line_decode(struct pmi1_line *ret, char *text, size_t size)
{
	char *word;

	*ret = (struct pmi1_line){0};
	if (memchr(text, '\0', size))
		return -EPROTO;
	text[size] = '\0';
	while ((word = strsep(&text, " "))) {
		if (is_free_text(ret, word) && text) {
			text[-1] = ' ';
			text = NULL;
		}
		if (*word && add(ret, word))
			return -EPROTO;
	}
	return ret->command ? 0 : -EPROTO;
}

const char *pmi1_line_get(const struct pmi1_line *line, const char *name)
{
	for (size_t i = 0; i < line->n; i++)
		if (!strcmp(line->words[i].name, name))
			return line->words[i].value;
	return NULL;
}
