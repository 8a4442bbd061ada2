// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/refusals.h"

#include <stdlib.h>
#include <string.h>

#include "pmcore/util/harmless.h"

void refusals_add(struct refusals *list, const char *text)
{
	char *line = list->n < REFUSALS_MAX ? strndup(text, REFUSAL_TEXT_MAX - 1) : NULL;

	/* Without memory it is counted, so it still refuses. */
	if (!line) {
		list->n_more++;
		return;
	}
	harmless_make(line);
	list->lines[list->n++] = line;
}

void refusals_free(struct refusals *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->lines[i]);
	*list = (struct refusals){.n = 0};
}
