// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/activity.h"

#include <math.h>
#include <stdio.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/report.h"
#include "scheduler/scored/users_connection.h"

static void ticked(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	activity_tick(timer->data);
}

void activity_open(struct scored *d)
{
	LIST_INIT(&d->followers);
	ev_timer_init(&d->tick, ticked, ACTIVITY_TICK_S, ACTIVITY_TICK_S);
	d->tick.data = d;
}

static uint32_t ticks_of(double every_s)
{
	double bound = every_s < ACTIVITY_EVERY_MAX_S ? every_s : ACTIVITY_EVERY_MAX_S;
	double ticks = ceil(bound / ACTIVITY_TICK_S - 0.01);

	return ticks < 1 ? 1 : (uint32_t)ticks;
}

bool activity_follow(struct user *user, double every_s, char *why, size_t why_size)
{
	struct scored *d = user->scored;

	if (!user->ticks && account_is_limited(user->account) &&
	    user->account->followers >= ACTIVITY_LINKS_MAX) {
		snprintf(why, why_size,
			 "user %u is told the activity over %u connections already; end one of "
			 "them, sctop for instance",
			 user->account->uid, ACTIVITY_LINKS_MAX);
		return false;
	}
	if (!user->ticks) {
		LIST_INSERT_HEAD(&d->followers, user, following);
		user->account->followers++;
	}
	user->ticks = user->ticks_left = ticks_of(every_s);
	if (!ev_is_active(&d->tick))
		ev_timer_again(d->loop, &d->tick);
	return true;
}

void activity_leave(struct user *user)
{
	struct scored *d = user->scored;

	if (!user->ticks)
		return;
	LIST_REMOVE(user, following);
	user->account->followers--;
	user->ticks = 0;
	if (LIST_EMPTY(&d->followers))
		ev_timer_stop(d->loop, &d->tick);
}

/*
 * A client that does not read is sent no more reports. Users whose requests wait are told when they
 * wait no more: the time stays over.
 */
static bool is_due(const struct user *user)
{
	return !user->ticks_left && !user->account->is_resting && !link_is_full(user->link);
}

/* One more tick is over; returns how many are due. */
static unsigned int count_due(struct scored *d)
{
	struct user *user;
	unsigned int n = 0;

	LIST_FOREACH(user, &d->followers, following) {
		user->ticks_left -= user->ticks_left > 0;
		n += is_due(user);
	}
	return n;
}

/* For all connections of a user. NULL: no memory. */
static struct shared *encode(json_t *report)
{
	size_t size = 0;
	char *bytes = report ? frame_encode(report, 0, &size) : NULL;

	json_decref(report);
	return shared_new(bytes, size);
}

/* All connections of an account that are due; returns how many. */
static unsigned int tell_account(struct scored *d, const struct account *account, json_t *report)
{
	struct shared *frame = encode(report);
	struct user *user;
	unsigned int n = 0;

	LIST_FOREACH(user, &d->followers, following)
		if (user->account == account && is_due(user)) {
			user->ticks_left = user->ticks;
			/* Without memory for it he hears the next one. */
			if (frame)
				link_send_frame(user->link, frame);
			n++;
		}
	shared_release(frame);
	return n;
}

static struct account *next_account(const struct scored *d)
{
	const struct user *user;

	LIST_FOREACH(user, &d->followers, following)
		if (is_due(user))
			return user->account;
	return NULL;
}

void activity_tick(struct scored *d)
{
	uint64_t begun_ns = clock_monotonic_ns(), shared_ns, now_ns;
	unsigned int n_due = count_due(d);
	struct account *account;
	json_t *common = n_due ? report_common(d) : NULL;

	if (!common)
		return;
	now_ns = clock_monotonic_ns();
	shared_ns = (now_ns - begun_ns) / n_due;
	while ((account = next_account(d))) {
		unsigned int n;

		begun_ns = now_ns;
		n = tell_account(d, account, report_of(d, common, account->uid));
		now_ns = clock_monotonic_ns();
		account_spend(account, now_ns - begun_ns + n * shared_ns);
	}
	json_decref(common);
}
