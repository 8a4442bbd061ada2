// SPDX-License-Identifier: BSD-3-Clause
/* loop - waits for whatever happens next and gives it to the part it belongs to. */
#include "pm-ethernet/daemon/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "pm-ethernet/daemon/charges.h"
#include "pm-ethernet/daemon/clients.h"
#include "pm-ethernet/daemon/closer.h"
#include "pm-ethernet/daemon/contexts.h"
#include "pm-ethernet/daemon/rails.h"
#include "pm-ethernet/daemon/rtnl.h"
#include "pm-ethernet/daemon/sources.h"
#include "pm-ethernet/daemon/watch.h"
#include "pmcore/util/clock.h"

int ethd_loop_open(struct ethd *d)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	d->netlink = rtnl_watch_open();
	if (d->signals < 0)
		return -errno;
	if (d->netlink < 0)
		return d->netlink;
	err = ethd_sources_open(d);
	if (!err)
		err = ethd_closer_open(d);
	if (!err)
		err = ethd_charges_open(d);
	if (!err)
		err = ethd_source_add(d, d->closer, EPOLLIN, ETHD_SOURCE_CLOSER, 0);
	if (!err)
		err = ethd_source_add(d, d->signals, EPOLLIN, ETHD_SOURCE_SIGNAL, 0);
	return err ? err : ethd_source_add(d, d->netlink, EPOLLIN, ETHD_SOURCE_NETLINK, 0);
}

/* Sockets of a NIC that came back are new ones. */
static void watch_rails(struct ethd *d)
{
	int fds[ETH_RAILS], n = ethd_discover_fds(d, fds);

	for (int r = 0; r < n; r++) {
		int err = fds[r] < 0 ? 0
				     : ethd_source_add(d, fds[r], EPOLLIN, ETHD_SOURCE_DISCOVER,
						       (uint64_t)r);

		if (err && err != -EEXIST)
			ethd_say("rail %s: answers go unheard: %s", d->rails[r].name,
				 strerror(-err));
	}
}

static void end_process(struct ethd *d, uint16_t context)
{
	struct ethd_context *c = &d->contexts[context];

	if (c->client)
		ethd_client_close(d, c->client);
	else
		ethd_context_release(d, context);
}

static void handle(struct ethd *d, const struct epoll_event *event)
{
	uint64_t value = ethd_source_value(event);
	struct signalfd_siginfo info;

	switch (ethd_source_of(event)) {
	case ETHD_SOURCE_SIGNAL:
		if (read(d->signals, &info, sizeof(info)) == sizeof(info)) {
			d->is_stopping = true;
			d->is_leaving_all = info.ssi_signo == SIGUSR1;
		}
		break;
	case ETHD_SOURCE_NETLINK:
		if (rtnl_watch_drain(d->netlink))
			ethd_rails_refresh(d);
		break;
	case ETHD_SOURCE_LISTENER:
		ethd_clients_accept(d);
		break;
	case ETHD_SOURCE_CLIENT:
		ethd_client_ready(d, (struct ethd_client *)(uintptr_t)value, event->events);
		break;
	case ETHD_SOURCE_PROCESS:
		end_process(d, (uint16_t)value);
		break;
	case ETHD_SOURCE_DISCOVER:
		ethd_discover_input(d, (uint32_t)value);
		break;
	case ETHD_SOURCE_CLOSER:
		if (ethd_closer_reap(d)) {
			ethd_charges_hurry(d);
			ethd_clients_retry(d);
		}
		break;
	}
}

/* Milliseconds to sleep, -1 = until something happens; never early, as that would spin. */
static int sleep_ms(uint64_t now, uint64_t deadline)
{
	if (deadline == UINT64_MAX)
		return -1;
	if (deadline <= now)
		return 0;
	deadline = (deadline - now + 999999) / 1000000;
	return deadline > 60000 ? 60000 : (int)deadline;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int ethd_loop_run(struct ethd *d)
{
	while (!d->is_stopping) {
		struct epoll_event event;
		uint64_t now = clock_monotonic_ns(), next = ethd_discover_timer(d, now);
		int n;

		next = sooner(next, ethd_watch_timer(d, now));
		next = sooner(next, ethd_charges_timer(d, now));
		next = sooner(next, ethd_clients_timer(d, now));
		watch_rails(d);
		n = epoll_wait(d->epoll, &event, 1, sleep_ms(now, next));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			handle(d, &event);
	}
	return 0;
}
