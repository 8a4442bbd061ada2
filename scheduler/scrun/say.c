// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmcore/util/harmless.h"
#include "scheduler/scrun/sink.h"
#include "scheduler/scrun/terminal.h"

#define LINE_BYTES 4096

static struct sink *through;
static bool is_status_shown;

void say_through(struct sink *sink)
{
	through = sink;
}

static void put(const char *text, size_t size)
{
	if (through)
		sink_write(through, text, size);
	else
		fwrite(text, 1, size, stderr);
}

static void wipe(void)
{
	static const char wiping[] = "\r\033[K";

	if (is_status_shown)
		put(wiping, sizeof(wiping) - 1);
	is_status_shown = false;
}

static void line(const char *before, const char *fmt, va_list args)
{
	char text[LINE_BYTES];
	size_t size = strlen(before);

	memcpy(text, before, size);
	vsnprintf(text + size, sizeof(text) - size - 2, fmt, args);
	harmless_make(text);
	wipe();
	size = strlen(text);
	if (terminal_is_raw())
		text[size++] = '\r';
	text[size++] = '\n';
	put(text, size);
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("scrun: ", fmt, args);
	va_end(args);
}

void say_plain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("", fmt, args);
	va_end(args);
}

void say_status(const char *text)
{
	char status[LINE_BYTES];

	wipe();
	if (!*text || !isatty(STDERR_FILENO))
		return;
	snprintf(status, sizeof(status), "scrun: %s", text);
	harmless_make(status);
	put(status, strlen(status));
	is_status_shown = true;
}
