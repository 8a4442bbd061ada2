// SPDX-License-Identifier: BSD-3-Clause
/*
 * scremote: the agent of scout on a host. Lives as long as its connection.
 */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/environment.h"

/* 0 to 2 stay taken, so that no pipe of a command gets one of these numbers. */
static int hold_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	return fd < 0 ? -errno : 0;
}

/* A terminal's keys and the end of a session are scout's to hear, who tells us. */
static void leave_terminal(void)
{
	static const int ignored[] = {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP};

	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	/* Keepers have said all before they end. */
	signal(SIGCHLD, SIG_IGN);
}

static void on_term(struct ev_loop *loop, ev_signal *watcher, int events)
{
	(void)events;
	ev_signal_stop(loop, watcher);
	ev_break(loop, EVBREAK_ALL);
}

static int serve(struct ev_loop *loop, const struct scremote_options *options)
{
	struct agent agent;
	ev_signal term;
	char why[1024];

	ev_signal_init(&term, on_term, SIGTERM);
	ev_signal_start(loop, &term);
	if (agent_open(&agent, loop, options, why, sizeof(why))) {
		daemon_say("%s", why);
		return SCREMOTE_EXIT_FAILED;
	}
	ev_run(loop, 0);
	ev_signal_stop(loop, &term);
	agent_close(&agent);
	/* Until the last words are out. */
	ev_run(loop, 0);
	if (agent.why[0])
		daemon_say("%s", agent.why);
	/* For scnoded alone, which has a control group of ours. */
	if (agent.is_cut && !options->connect)
		return REMOTE_EXIT_CUT;
	return agent.why[0] ? SCREMOTE_EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct scremote_options options;
	struct ev_loop *loop = NULL;
	char why[1024];
	int rc = scremote_options_read(&options, argc, argv, why, sizeof(why));

	if (rc) {
		if (rc < 0)
			daemon_say("%s", why);
		return rc < 0 ? SCREMOTE_EXIT_USAGE : 0;
	}
	/*
	 * The loop has descriptors of its own, which come behind those. And libev's default loop
	 * would take the ends of children for itself.
	 */
	if (!hold_stdio() && !environment_complete())
		loop = ev_loop_new(EVFLAG_AUTO);
	if (!loop) {
		daemon_say("no memory, or no descriptor");
		return SCREMOTE_EXIT_FAILED;
	}
	leave_terminal();
	rc = serve(loop, &options);
	ev_loop_destroy(loop);
	return rc;
}
