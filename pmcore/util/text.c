// SPDX-License-Identifier: BSD-3-Clause
/*
 * Formatted text in a buffer of fixed size; see text.h. Knows nothing of what is written.
 */
#include "pmcore/util/text.h"

#include <stdarg.h>
#include <stdio.h>

void text_add(struct text *text, const char *fmt, ...)
{
	size_t at = text->len < text->room ? text->len : text->room;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->room ? text->buf + at : NULL, text->room - at, fmt, args);
	va_end(args);
	if (n > 0)
		text->len += (size_t)n;
}
