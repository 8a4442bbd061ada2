// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/memory_limit.h"

#include <stdlib.h>
#include <string.h>

void memory_limit_take(struct step *step, const json_t *from)
{
	const char *kills = json_string_value(json_object_get(from, "kills"));
	const char *text = json_string_value(json_object_get(from, "text"));

	free(step->memory_text);
	free(step->memory_kills);
	step->memory_text = step->memory_kills = NULL;
	if (!kills || *kills != '/' || strlen(kills) > STEP_PATH_MAX || !text || !*text)
		return;
	step->memory_text = strdup(text);
	/* Without a sentence there is nothing to look for. */
	step->memory_kills = step->memory_text ? strdup(kills) : NULL;
}
