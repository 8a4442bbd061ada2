// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any text as host ranges: names within their limits, which mean the same when written out, or a
 * sentence.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/hostlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WRITTEN_OUT_MAX 256 /* names that are joined and read again */

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_names(const struct hostlist *list)
{
	require(list->n >= 1 && list->n <= HOSTLIST_NAMES_MAX);
	for (size_t i = 0; i < list->n; i++) {
		size_t len = strlen(list->names[i]);

		require(len >= 1 && len <= HOSTLIST_NAME_MAX);
		require(strpbrk(list->names[i], "[], \t\n") == NULL);
	}
}

static void check_again(const struct hostlist *list)
{
	char *text = calloc(list->n, HOSTLIST_NAME_MAX + 1), why[128], *at = text;
	struct hostlist again = {0};

	require(text != NULL);
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			*at++ = ',';
		at = stpcpy(at, list->names[i]);
	}
	require(!hostlist_expand(&again, text, why, sizeof(why)) && again.n == list->n);
	for (size_t i = 0; i < list->n; i++)
		require(!strcmp(again.names[i], list->names[i]));
	hostlist_fini(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct hostlist list = {0};
	char why[64] = "";
	int err;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	err = hostlist_expand(&list, text, why, sizeof(why));
	if (err) {
		require(!list.names && !list.n && !list.text);
		require(err == -ENOMEM || (err == -EINVAL && why[0]));
		require(memchr(why, 0, sizeof(why)) != NULL);
	} else {
		check_names(&list);
		if (list.n <= WRITTEN_OUT_MAX)
			check_again(&list);
		hostlist_fini(&list);
	}
	free(text);
	return 0;
}
