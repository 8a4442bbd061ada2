// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/harmless.h"
#include "pmcore/util/notify.h"

void daemon_say(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/*
	 * Users' words are in it: no line of theirs, and no escape sequence, reaches the terminal
	 * of who reads the log.
	 */
	harmless_make(line);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
}

char *daemon_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0) {
		daemon_say("no memory");
		abort();
	}
	va_end(args);
	return text;
}

static void stop(struct ev_loop *loop, ev_signal *watcher, int events)
{
	(void)watcher;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

void daemon_run(struct ev_loop *loop)
{
	static const int signals[] = {SIGTERM, SIGINT};
	ev_signal watchers[2];
	int err = notify_service("READY=1");

	if (err)
		daemon_say("the service manager was not told: %s", strerror(-err));
	for (int i = 0; i < 2; i++) {
		ev_signal_init(&watchers[i], stop, signals[i]);
		ev_signal_start(loop, &watchers[i]);
	}
	ev_run(loop, 0);
	for (int i = 0; i < 2; i++)
		ev_signal_stop(loop, &watchers[i]);
}
