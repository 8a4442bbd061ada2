// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as lines of PMI-1 and as what hosts give each other: what is let through lies within
 * the bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/pmi1_line.h"
#include "scheduler/scstepd/pmi1_space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_line(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct pmi1_line line;
	int rc;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	rc = pmi1_line_decode(&line, text, size);
	require(rc == 0 || rc == -EPROTO);
	for (size_t i = 0; !rc && i < line.n; i++) {
		const struct pmi1_word *word = &line.words[i];

		require(word->name >= text && word->name < word->value && *word->name);
		require(word->value + strlen(word->value) <= text + size);
		require(pmi1_line_get(&line, word->name) == word->value);
	}
	free(text);
}

static void check_merge(const uint8_t *data, size_t size)
{
	struct pmi1_space space = {0};
	char *text = malloc(size ? size : 1);
	int rc;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	rc = pmi1_space_merge(&space, text, size);
	require(rc == -EPROTO ? !space.n : !rc);
	/* The same twice changes nothing. */
	if (!rc) {
		size_t n = space.n;

		require(!pmi1_space_merge(&space, text, size) && space.n == n);
		require(!size || pmi1_space_get(&space, text));
	}
	pmi1_space_fini(&space);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_merge(data, size);
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t n = end ? (size_t)(end - data) : size;

		check_line(data, n);
		data += n + (end != NULL);
		size -= n + (end != NULL);
	}
	return 0;
}
