// SPDX-License-Identifier: BSD-3-Clause
/*
 * A file stays in an epoll set until its last descriptor and mapping are gone, wherever these are:
 * in a process, or on their way to one. So the set d->held, for which nobody waits, lists what is
 * still held of files that we have closed. The kernel tells it in /proc/self/fdinfo. Sockets are
 * put in only at the end of a lease, as the set would hear of each of their frames.
 */
#include "pm-ethernet/daemon/charges.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "pm-ethernet/daemon/headroom.h"
#include "pm-ethernet/daemon/memory.h"
#include "pm-ethernet/daemon/ports.h"
#include "pmcore/util/clock.h"

#define LOOK_MIN_NS 20000000ull   /* between two looks, after something has ended */
#define LOOK_MAX_NS 1000000000ull /* and when nothing goes */
#define OWN_RESERVE (8ull << 20)  /* of our group, for all that is not charged */

static FILE *open_held(const struct ethd *d)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", d->held);
	return fopen(path, "re");
}

int ethd_charges_open(struct ethd *d)
{
	FILE *f;

	d->held = epoll_create1(EPOLL_CLOEXEC);
	if (d->held < 0)
		return -errno;
	f = open_held(d);
	if (!f)
		return -errno;
	fclose(f);
	return 0;
}

struct ethd_charge *ethd_charge_begin(struct ethd *d, uid_t uid, uint64_t bytes)
{
	struct ethd_charge *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct ethd_charge){.next = d->charges,
				  .id = ++d->last_charge,
				  .uid = uid,
				  .bytes = bytes,
				  .memory = -1,
				  .share = -1,
				  .port = -1};
	d->charges = c;
	return c;
}

void ethd_charge_watch(struct ethd *d, struct ethd_charge *charge, int fd)
{
	struct epoll_event event = {.data.u64 = charge->id};

	if (!epoll_ctl(d->held, EPOLL_CTL_ADD, fd, &event))
		return;
	charge->is_unknown = true;
	ethd_say("what user %u keeps of a context can't be watched: %m; it counts until "
		 "pm-ethernetd is "
		 "started anew",
		 charge->uid);
}

void ethd_charge_end(struct ethd *d, struct ethd_charge *charge, int port)
{
	charge->is_ended = true;
	charge->port = port;
	if (port >= 0)
		ethd_port_rest(d, port);
	ethd_charges_hurry(d);
}

void ethd_charges_hurry(struct ethd *d)
{
	d->look_wait_ns = LOOK_MIN_NS;
	d->look_ns = 0;
}

static struct ethd_charge *find(const struct ethd *d, uint64_t id)
{
	struct ethd_charge *c = d->charges;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* Counts what is in the set for each charge. */
static int count_held(struct ethd *d)
{
	FILE *f = open_held(d);
	char line[256];

	if (!f)
		return -errno;
	for (struct ethd_charge *c = d->charges; c; c = c->next)
		c->n_held = 0;
	while (fgets(line, sizeof(line), f)) {
		struct ethd_charge *c;
		uint64_t id;

		if (sscanf(line, "tfd: %*d events: %*x data: %" SCNx64, &id) != 1)
			continue;
		c = find(d, id);
		if (c)
			c->n_held++;
	}
	fclose(f);
	return 0;
}

/* True, and it is closed here: nobody else has it. */
static bool take_back(int *fd)
{
	int lent;

	if (*fd < 0)
		return true;
	lent = ethd_memory_is_lent(*fd);
	if (lent > 0)
		return false;
	if (!lent)
		ethd_memory_drop(*fd);
	else
		close(*fd); /* what a process may still work with is not taken from it */
	*fd = -1;
	return true;
}

/* Is all of it gone, and time enough has passed for the kernel to free what it had pinned? */
static bool is_over(struct ethd *d, struct ethd_charge *c, uint64_t now_ns)
{
	bool is_held = c->n_closing || c->n_held || c->is_unknown, is_back;

	if (is_held)
		return false;
	if (c->port >= 0)
		ethd_port_give(d, c->port);
	c->port = -1;
	if (!c->free_ns)
		c->free_ns = now_ns + (c->is_freed_late ? ETHD_SETTLE_NS : 0);
	is_back = take_back(&c->memory);
	return take_back(&c->share) && is_back && now_ns >= c->free_ns;
}

static void look(struct ethd *d, uint64_t now_ns)
{
	struct ethd_charge **at = &d->charges;

	if (count_held(d))
		return;
	while (*at) {
		struct ethd_charge *c = *at;

		if (!c->is_ended || !is_over(d, c, now_ns)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

void ethd_charges_look(struct ethd *d)
{
	look(d, clock_monotonic_ns());
}

static bool is_any_ended(const struct ethd *d)
{
	for (const struct ethd_charge *c = d->charges; c; c = c->next)
		if (c->is_ended)
			return true;
	return false;
}

uint64_t ethd_charges_timer(struct ethd *d, uint64_t now_ns)
{
	if (!is_any_ended(d))
		return UINT64_MAX;
	if (now_ns < d->look_ns)
		return d->look_ns;
	look(d, now_ns);
	d->look_ns = now_ns + d->look_wait_ns;
	d->look_wait_ns = 2 * d->look_wait_ns < LOOK_MAX_NS ? 2 * d->look_wait_ns : LOOK_MAX_NS;
	return is_any_ended(d) ? d->look_ns : UINT64_MAX;
}

uint64_t ethd_charges_bytes(const struct ethd *d, uid_t uid)
{
	uint64_t bytes = 0;

	for (const struct ethd_charge *c = d->charges; c; c = c->next)
		bytes += c->uid == uid ? c->bytes : 0;
	/* of contexts that a daemon before us granted nothing else is known */
	for (uint32_t n = 1; n < ETH_CONTEXTS; n++)
		if (d->contexts[n].key && d->contexts[n].uid == uid && !d->contexts[n].charge)
			bytes += d->contexts[n].memory_bytes;
	return bytes;
}

static bool is_kept(const struct ethd_charge *c)
{
	return c->is_ended && !c->n_closing && (c->n_held || c->is_unknown);
}

uint32_t ethd_charges_kept(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct ethd_charge *c = d->charges; c; c = c->next)
		n += c->uid == uid && is_kept(c);
	return n;
}

uint32_t ethd_charges_ended(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct ethd_charge *c = d->charges; c; c = c->next)
		n += c->uid == uid && c->is_ended;
	return n;
}

/* The kernel can't swap packet memory out, so what one user may hold of it has a limit. */
static uint64_t limit_of_user(const struct ethd *d)
{
	uint64_t limit = ETHD_UID_BYTES, quarter;
	struct sysinfo machine;

	if (d->options.user_bytes)
		return d->options.user_bytes;
	if (sysinfo(&machine))
		return limit;
	quarter = (uint64_t)machine.totalram * machine.mem_unit / 4;
	return quarter < limit ? quarter : limit;
}

int ethd_charges_allow(struct ethd *d, uid_t uid, uint64_t more, char *why, size_t why_size)
{
	uint64_t limit = limit_of_user(d), has = ethd_charges_bytes(d, uid), ended = 0;

	if (!uid)
		return 0;
	if (has + more > limit) {
		ethd_charges_look(d);
		has = ethd_charges_bytes(d, uid);
	}
	if (has + more <= limit)
		return 0;
	for (const struct ethd_charge *c = d->charges; c; c = c->next)
		ended += c->uid == uid && c->is_ended ? c->bytes : 0;
	snprintf(why, why_size,
		 "user %u holds %" PRIu64 " MiB of packet memory on this host (%" PRIu64
		 " MiB of it from contexts that ended or are suspended) and may hold %" PRIu64
		 " MiB; "
		 "end other programs, or ask for less with channel.send_buffers",
		 uid, has >> 20, ended >> 20, limit >> 20);
	return -EDQUOT;
}

static uint64_t own_bytes(const struct ethd *d, uid_t uid)
{
	uint64_t bytes = 0;

	for (const struct ethd_charge *c = d->charges; c; c = c->next)
		bytes += c->uid == uid ? c->own_bytes : 0;
	return bytes;
}

/* The reserve is there for what was not foreseen, so half of it may be used here. */
bool ethd_charges_fit_own(uint64_t more)
{
	return ethd_headroom() >= more + OWN_RESERVE / 2;
}

int ethd_charges_allow_own(struct ethd *d, uid_t uid, uint64_t more, char *why, size_t why_size)
{
	uint64_t left = ethd_headroom(), has = own_bytes(d, uid);

	/* there may be less to be kept free when it is known what has ended */
	if (left != UINT64_MAX && left < more + has + OWN_RESERVE) {
		ethd_charges_look(d);
		has = own_bytes(d, uid);
	}
	if (left >= more + (uid ? has : 0) + OWN_RESERVE)
		return 0;
	snprintf(why, why_size,
		 "pm-ethernetd may take %" PRIu64 " MiB of memory more, and what it keeps for "
		 "contexts of user %u has %" PRIu64 " MiB; end other programs, or raise its limit "
		 "(MemoryMax=)",
		 left >> 20, uid, has >> 20);
	return -ENOMEM;
}

void ethd_charges_forget(struct ethd *d)
{
	while (d->charges) {
		struct ethd_charge *c = d->charges;

		d->charges = c->next;
		free(c);
	}
}
