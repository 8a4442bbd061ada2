// SPDX-License-Identifier: BSD-3-Clause
/* Any text as a host expression: names within their limits, each once, or a sentence. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/hostexpr.h"
#include "cluster/nameset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_names(const struct hostlist *list)
{
	struct nameset seen;

	require(list->n >= 1 && list->n <= HOSTLIST_NAMES_MAX);
	require(!nameset_init(&seen));
	for (size_t i = 0; i < list->n; i++) {
		size_t len = strlen(list->names[i]);

		require(len >= 1 && len <= HOSTLIST_NAME_MAX);
		require(strpbrk(list->names[i], "[],+~:@ \t\n") == NULL);
		require(!nameset_add(&seen, list->names[i]));
		require(seen.n == i + 1);
	}
	nameset_fini(&seen);
}

static int each_host(void *arg, const char *name, int (*add)(void *to, const char *name), void *to)
{
	int err = strcmp(name, "g") != 0 ? -ENOENT : add(to, "n1");

	return err ? err : add(to, "n2");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct hostexpr_groups groups = {.each = each_host};
	char *text = malloc(size + 1), why[64] = "";
	struct hostlist list = {0};
	int err;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	err = hostexpr_expand(&list, text, &groups, why, sizeof(why));
	if (err) {
		require(!list.names && !list.n && !list.text);
		require(err == -ENOMEM || (err == -EINVAL && why[0]));
		require(memchr(why, 0, sizeof(why)) != NULL);
	} else {
		check_names(&list);
		hostlist_fini(&list);
	}
	free(text);
	return 0;
}
