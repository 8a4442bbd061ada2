// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

static const int watched[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
			      SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

#define N_WATCHED (sizeof(watched) / sizeof(watched[0]))

struct signals {
	struct ev_loop *loop;
	signals_came *came;
	void *owner;
	ev_signal watcher[N_WATCHED];
};

enum interrupt interrupts_judge(struct interrupts *in, double now_s)
{
	bool is_second = in->n && now_s - in->last_s <= SIGNALS_TWICE_S;

	in->n++;
	in->last_s = now_s;
	if (in->is_ending)
		return INTERRUPT_LEAVE;
	if (!is_second)
		return INTERRUPT_FORWARD;
	in->is_ending = true;
	return INTERRUPT_END;
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct signals *signals = watcher->data;

	signals->came(watcher->signum, signals->owner);
}

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

struct signals *signals_open(struct ev_loop *loop, signals_came *came, void *owner)
{
	struct signals *signals = calloc(1, sizeof(*signals));

	if (!signals)
		return NULL;
	signals->loop = loop;
	signals->came = came;
	signals->owner = owner;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	for (size_t i = 0; i < N_WATCHED; i++) {
		ev_signal_init(&signals->watcher[i], on_signal, watched[i]);
		signals->watcher[i].data = signals;
		if (!is_ignored(watched[i]))
			ev_signal_start(loop, &signals->watcher[i]);
	}
	return signals;
}

void signals_close(struct signals *signals)
{
	if (!signals)
		return;
	for (size_t i = 0; i < N_WATCHED; i++)
		ev_signal_stop(signals->loop, &signals->watcher[i]);
	free(signals);
}

static ev_signal *watcher_of(struct signals *signals, int signal)
{
	size_t i = 0;

	while (watched[i] != signal)
		i++;
	return &signals->watcher[i];
}

void signals_stop_self(struct signals *signals)
{
	ev_signal *watcher = watcher_of(signals, SIGTSTP);

	/* Stopping the watcher brings the default action back. */
	ev_signal_stop(signals->loop, watcher);
	raise(SIGTSTP);
	ev_signal_start(signals->loop, watcher);
}
