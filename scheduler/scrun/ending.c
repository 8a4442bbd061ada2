// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/ending.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "scheduler/scrun/say.h"

void ending_give(struct ending *ending, int code, const char *fmt, ...)
{
	va_list args;

	if (ending->is_given)
		return;
	ending->is_given = true;
	ending->code = code < 0 || code > 255 ? 255 : code;
	va_start(args, fmt);
	vsnprintf(ending->text, sizeof(ending->text), fmt, args);
	va_end(args);
}

int ending_code(const json_t *head)
{
	const json_t *code = json_object_get(head, "code");
	json_int_t value = json_integer_value(code);

	/* Something else is no success. */
	return json_is_integer(code) && value >= 0 && value <= 255 ? (int)value : 255;
}

void ending_say(const struct ending *ending, uint64_t job)
{
	if (!*ending->text)
		return;
	if (job)
		say("job %" PRIu64 ": %s", job, ending->text);
	else
		say("%s", ending->text);
}
