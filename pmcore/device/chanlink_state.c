// SPDX-License-Identifier: BSD-3-Clause
/* chanlink_state - a channel and its device stopped, saved, restored, described. */
#include "pmcore/device/chanlink_private.h"

#include <errno.h>

int chanlink_quiesce(struct pm_link *link)
{
	struct chanlink *c = of(link);

	chan_quiesce(c->chan, true);
	chanlink_progress(c);
	return chan_is_quiet(c->chan) ? 0 : -EAGAIN;
}

void chanlink_resume(struct pm_link *link)
{
	struct chanlink *c = of(link);

	chan_quiesce(c->chan, false);
	chanlink_progress(c);
}

int chanlink_save(struct pm_link *link, void *buf, size_t room)
{
	chanlink_settle(of(link));
	return chan_freeze(of(link)->chan, buf, room);
}

struct resolve_arg {
	int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer);
	void *arg;
};

static int resolve_peer(void *arg, uint32_t node, struct chan_peer **ret_peer)
{
	struct resolve_arg *r = arg;

	return r->resolve(r->arg, node, (struct pm_link_peer **)ret_peer);
}

int chanlink_restore(struct pm_link *link, const void *buf, size_t len,
		     int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		     void *arg)
{
	struct resolve_arg r = {resolve, arg};

	return chan_thaw(of(link)->chan, buf, len, resolve_peer, &r);
}

int chanlink_dump(struct pm_link *link, char *buf, size_t room)
{
	struct chanlink *c = of(link);
	int n = chan_dump(c->chan, buf, room);
	size_t used = n < 0 || (size_t)n > room ? room : (size_t)n;

	return n + layers_dump(&c->layers, buf + used, room - used);
}

uint64_t chanlink_memory(struct pm_link *link)
{
	struct chanlink *c = of(link);

	return sizeof(*c) + chan_memory(c->chan) + layers_memory(&c->layers);
}
