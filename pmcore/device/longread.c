// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/longread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/address.h"
#include "pmcore/device/chanlink.h"
#include "pmcore/device/registry.h"
#include "pmcore/device/stubs.h"
#include "pmcore/util/choice.h"
#include "pmcore/util/clock.h"

/*
 * Bytes from which on the request, which goes by the stream too, is worth it if many are under way.
 */
#define STREAM_MIN (8u << 10)
/*
 * A shorter read that is alone waits longer for its request and answer than for its data. By the
 * stream 8 KiB had 567 MB/s and by datagrams 731, 16 KiB 974 / 1045, 32 KiB 1656 / 1360. Sixteen at
 * once: 2819 / 1963, 3840 / 2693, 4812 / 2697.
 */
#define ALONE_MIN (24u << 10)
/* Shorter reads come in crowds, say little of either way, and are no trials. */
#define TRIAL_MIN WORTH
/*
 * Bytes from which on a message that is read by the stream arrives sooner than one in datagrams.
 * Half RTT of 64 KiB 27 and 23 us, 96 KiB 32 / 30, 128 KiB 35 / 38, 256 KiB 65 / 78. With 64 in
 * flight, 128 KiB had 3.8 / 3.5 GB/s. Both ways took 56 / 67 us.
 */
#define WORTH (128u << 10)

/* Of a node that a network device reaches. */
struct longread_way {
	struct pm_link_peer
		*peer; /* made for the first long read; NULL: not yet, or no stream leads there */
	bool is_looked_for;
	struct choice choice;
	size_t address_len;
	uint8_t address[]; /* the stream's part of the node's address, until it is looked for */
};

/* ---- opening ---- */

/*
 * The first device that is no link by itself: the reads of nodes that it reaches may go by the
 * stream.
 */
static const struct composite_slot *network(const struct composite *c)
{
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (chanlink_rails(c->slots[i].link))
			return &c->slots[i];
	return NULL;
}

/*
 * Its interfaces. Rails of datagrams stand behind those of frames, as eth1:udp, and RDMA ports have
 * a number, as mlx5_0:1.
 */
static void name_rails(const struct composite *c, const struct composite_slot *slot,
		       struct conf *conf)
{
	const struct stats_page *page = stats_page(c->stats);

	conf->udp_is_lane = true;
	/*
	 * the user's own words may choose one of several addresses, which the name of an interface
	 * can't
	 */
	if (!strcmp(slot->device, "udp") && conf->n_udp_rails)
		return;
	conf->n_udp_rails = 0;
	for (uint32_t r = 0; r < slot->stats->n_rails && conf->n_udp_rails < CONF_RAILS_MAX; r++) {
		const char *name = page->rails[slot->stats->first_rail + r].name;

		if (!strchr(name, ':'))
			snprintf(conf->udp_rails[conf->n_udp_rails++], sizeof(conf->udp_rails[0]),
				 "%s", name);
	}
}

/*
 * The reason for having no stream, or NULL. Layers that must see or check each packet would miss
 * its data.
 */
static const char *obstacle(const struct composite *c)
{
	if (c->conf.fault[0] || c->conf.trace[0] || c->conf.crc)
		return "fault, trace and channel.crc want all data in packets";
	if (!network(c))
		return "there is no network device for it";
	if (!c->stream_conf.n_udp_rails)
		return "the network device has no IP interfaces";
	return c->n_slots == COMPOSITE_LINKS ? "there are too many devices" : NULL;
}

static int open_stream(struct composite *c, const struct pm_device_env *env)
{
	struct composite_slot *slot = &c->slots[c->n_slots];
	struct pm_device_env own = *env;
	const char *why;
	int err;

	c->stream_conf = c->conf;
	if (network(c))
		name_rails(c, network(c), &c->stream_conf);
	why = obstacle(c);
	if (why) {
		snprintf(c->why, sizeof(c->why), "%s", why);
		return -ENODEV;
	}
	own.conf = &c->stream_conf;
	own.stats = &stats_page(c->stats)->links[c->n_slots];
	err = stubs_link(registry_stream(), &slot->ops);
	if (!err)
		err = slot->ops.open(&own, &slot->link);
	if (err) {
		if (!c->why[0])
			snprintf(c->why, sizeof(c->why), "%s", strerror(-err));
		memset(slot, 0, sizeof(*slot));
		return err;
	}
	slot->link->ops = &slot->ops;
	slot->device = slot->ops.name;
	slot->stats = own.stats;
	snprintf(slot->name, sizeof(slot->name), "%s", slot->ops.name);
	snprintf(slot->stats->name, sizeof(slot->stats->name), "%s", slot->ops.name);
	stats_page(c->stats)->n_links = ++c->n_slots;
	c->stream = slot;
	return 0;
}

int longread_open(struct composite *c, const struct pm_device_env *env)
{
	char said[COMPOSITE_WHY];
	int err;

	if (c->conf.stream == CONF_STREAM_NEVER)
		return 0;
	c->why[0] = '\0';
	err = open_stream(c, env);
	if (err && c->conf.stream == CONF_STREAM_ALWAYS) {
		snprintf(said, sizeof(said), "%.400s", c->why);
		snprintf(c->why, sizeof(c->why), "stream=always: %s", said);
		return -ENODEV;
	}
	return err == -ENOMEM ? err : 0;
}

/* ---- nodes ---- */

void longread_note(struct composite *c, struct composite_node *n)
{
	struct composite_slot *stream = c->stream;
	const void *part;
	size_t len;

	if (!stream || !chanlink_rails(n->link) ||
	    address_find(c->resolved, c->resolved_len, stream->name, &part, &len))
		return;
	n->way = calloc(1, sizeof(*n->way) + len);
	if (!n->way)
		return;
	n->way->address_len = len;
	memcpy(n->way->address, part, len);
}

/* May reads of the node go by the stream? */
static bool has_stream(struct composite *c, const struct composite_node *n)
{
	struct longread_way *way = n->way;

	if (!way || !chanlink_rails(n->link))
		return false;
	if (!way->is_looked_for && c->stream->ops.peer_add(c->stream->link, n->node, way->address,
							   way->address_len, &way->peer))
		way->peer = NULL;
	way->is_looked_for = true;
	return way->peer;
}

void longread_forget(struct composite *c, struct composite_node *n)
{
	if (c->stream)
		c->stream->ops.forget(c->stream->link, n->node);
	if (!n->way)
		return;
	if (n->way->peer)
		c->stream->ops.peer_del(c->stream->link, n->way->peer);
	free(n->way);
	n->way = NULL;
}

uint64_t longread_worth(struct composite *c, const struct composite_node *n)
{
	return has_stream(c, n) ? WORTH : 0;
}

bool longread_is_open(struct composite *c, const struct composite_node *n)
{
	return has_stream(c, n) && c->stream->ops.is_read_by(c->stream->link, n->node);
}

/* ---- reads ---- */

static int by_device(struct composite_node *n, struct longread *r)
{
	r->slot = n->slot;
	return n->ops->read(n->link, n->peer, r->rkey, r->roffset, r->local, r->len, &r->op);
}

static int by_stream(struct composite *c, struct longread_way *way, struct longread *r)
{
	r->slot = (uint8_t)(c->stream - c->slots);
	return c->stream->ops.read(c->stream->link, way->peer, r->rkey, r->roffset, r->local,
				   r->len, &r->op);
}

/* By the stream if that is always wanted, else by the way that is the faster one. */
static int by_either(struct composite *c, struct composite_node *n, struct longread *r)
{
	struct longread_way *way = n->way;

	if (c->conf.stream == CONF_STREAM_ALWAYS)
		return by_stream(c, way, r) ? by_device(n, r) : 0;
	if (r->len < ALONE_MIN && !c->n_reads)
		return by_device(n, r);
	if (r->len < TRIAL_MIN) {
		if (!choice_is_first_slower(&way->choice) && !by_stream(c, way, r))
			return 0;
		return by_device(n, r);
	}
	r->is_chosen = true;
	if (choice_begin(&way->choice, clock_monotonic_ns(), &r->spell) == CHOICE_FIRST) {
		if (!by_stream(c, way, r))
			return 0;
		r->spell = choice_refused(&way->choice);
	}
	return by_device(n, r);
}

/* Tells the choice that the read is over, if the node is still there. */
static void tell(struct composite *c, struct longread *r, uint64_t len)
{
	struct composite_node *n = r->is_chosen ? composite_find(c, r->node) : NULL;

	r->is_chosen = false;
	if (n && n->way)
		choice_end(&n->way->choice, r->spell, len, len > 0, clock_monotonic_ns());
}

int longread_start(struct composite *c, struct composite_node *n, struct longread *r)
{
	int err;

	r->is_waiting = r->is_chosen = r->is_counted = r->is_over = false;
	if (r->len < STREAM_MIN || !has_stream(c, n))
		return by_device(n, r);
	err = by_either(c, n, r);
	r->is_counted = !err;
	c->n_reads += r->is_counted;
	if (err)
		tell(c, r, 0);
	return err;
}

/* By the device from here on. */
static int start_again(struct composite *c, struct longread *r)
{
	struct composite_node *n = composite_find(c, r->node);
	int err = !n || n->is_dead ? -EPIPE : by_device(n, r);

	r->is_waiting = err == -EAGAIN;
	return err ? err : -EAGAIN;
}

int longread_quiesce(struct composite *c)
{
	return c->stream ? c->stream->ops.quiesce(c->stream->link) : 0;
}

int longread_settle(struct composite *c, struct longread *r)
{
	int err;

	if (r->is_over || (!r->is_waiting && &c->slots[r->slot] != c->stream))
		return 0;
	err = longread_done(c, r);
	if (err == -EAGAIN)
		return r->is_waiting || &c->slots[r->slot] == c->stream ? err : 0;
	r->is_over = true;
	r->status = err;
	return 0;
}

static int look(struct composite *c, struct longread *r)
{
	struct composite_slot *slot = &c->slots[r->slot];
	int err;

	if (r->is_waiting)
		return start_again(c, r);
	err = slot->ops.rma_done(slot->link, r->op);
	if (err == -EAGAIN)
		return err;
	tell(c, r, err ? 0 : r->len);
	return err == -ENETUNREACH && slot == c->stream ? start_again(c, r) : err;
}

int longread_done(struct composite *c, struct longread *r)
{
	int err = r->is_over ? r->status : look(c, r);

	if (err == -EAGAIN)
		return err;
	c->n_reads -= r->is_counted;
	r->is_counted = false;
	return err;
}
