// SPDX-License-Identifier: BSD-3-Clause
/*
 * message - lines on standard error. Each line is written by one call, so that lines of several
 * processes below one mpirun stay whole.
 */
#include "pmcore/tools/common/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_LEN 1024

static int node = -1;
static bool is_line_open; /* a progress line stands on the terminal */

void message_node(unsigned int number)
{
	node = (int)number;
}

static void say(const char *fmt, va_list ap)
{
	char text[LINE_MAX_LEN];

	message_progress_end();
	vsnprintf(text, sizeof(text), fmt, ap);
	if (node >= 0)
		fprintf(stderr, "%s: node %d: %s\n", program_invocation_short_name, node, text);
	else
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

void message_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void message_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

bool message_has_progress(void)
{
	return isatty(STDERR_FILENO);
}

void message_progress(const char *fmt, ...)
{
	char text[LINE_MAX_LEN];
	va_list ap;

	if (!message_has_progress())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
	is_line_open = true;
}

void message_progress_end(void)
{
	if (!is_line_open)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	is_line_open = false;
}

int message_exit_code(int rc)
{
	switch (-rc) {
	case 0:
		return MESSAGE_OK;
	case EINTR:
		return MESSAGE_INTERRUPTED;
	case EBADMSG:
	case EILSEQ:
	case EACCES:
		return MESSAGE_DATA;
	case EPIPE:
	case ETIMEDOUT:
	case ECONNRESET:
	case ECONNREFUSED:
	case EHOSTUNREACH:
		return MESSAGE_LOST;
	default:
		return MESSAGE_USAGE;
	}
}
