// SPDX-License-Identifier: BSD-3-Clause
/*
 * A host that is silent on all our rails to it is taken for dead; what else is closed far away we
 * can't know.
 */
#include "pm-ethernet/daemon/report_route.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/daemon/discover.h"
#include "pm-ethernet/daemon/grid.h"
#include "pm-ethernet/daemon/report_grid.h"
#include "pm-ethernet/route.h"
#include "pm-ethernet/walk.h"

static const char axes[ETH_DIMS + 1] = "xyzuvw";

/* ---- what is closed ---- */

static bool is_rail_down(const struct ethd *d, uint32_t rail)
{
	return !d->rails[rail].is_up || !d->rails[rail].is_programmed;
}

/* Nobody of two or more answers. */
static bool is_line_closed(const struct ethd *d, uint32_t rail)
{
	const struct eth_grid *grid = &d->options.grid;
	uint32_t n = 0;

	for (uint32_t at = 0; at < grid->dims[grid->dim[rail]]; at++) {
		if (d->grid->lines[rail][at].is_open)
			return false;
		n += d->grid->lines[rail][at].id != 0;
	}
	return n > 1;
}

enum ethd_closed ethd_route_closed(const struct ethd *d, uint32_t rail, uint32_t at)
{
	const struct eth_grid *grid = &d->options.grid;
	uint32_t dim = grid->dim[rail];

	if (is_rail_down(d, rail))
		return ETHD_CLOSED_RAIL;
	if (is_line_closed(d, rail))
		return ETHD_CLOSED_LINE;
	for (uint32_t lane = 0; lane < grid->n_lanes[dim]; lane++)
		if (d->grid->lines[grid->rail[dim][lane]][at].is_open)
			return ETHD_CLOSED_LINK;
	return ETHD_CLOSED_HOST;
}

/*
 * Whether a neighbour answers on none of our rails to it, one of them at least being able to tell.
 */
static bool is_dead(const struct ethd *d, uint32_t id)
{
	bool is_asked = false;

	for (uint32_t rail = 0; rail < d->n_rails; rail++) {
		int at = ethd_grid_place(d, rail, id);

		if (at < 0)
			continue;
		if (d->grid->lines[rail][at].is_open)
			return false;
		is_asked |= ethd_route_closed(d, rail, (uint32_t)at) == ETHD_CLOSED_HOST;
	}
	return is_asked;
}

/*
 * For eth_walk: our own links as the programs have them, links of others open unless they lead to
 * the dead.
 */
static bool is_open(void *arg, uint32_t host, uint32_t rail, uint32_t to)
{
	const struct ethd *d = arg;
	int at = ethd_grid_place(d, rail, to);

	if (host == d->host)
		return at >= 0 && d->grid->lines[rail][at].is_open;
	return to != d->host && !is_dead(d, to);
}

/* ---- who is asked for ---- */

static int __attribute__((format(printf, 3, 4)))
refuse(char *why, size_t why_size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_size, format, args);
	va_end(args);
	return -EINVAL;
}

/* "1,0,2": the host at that point, 0: nobody, or no point. */
static uint32_t find_at(const struct ethd_options *o, const char *text)
{
	struct eth_point point = {.is_known = 1};
	uint32_t dim = 0;

	for (char *end; dim < o->grid.n_dims; dim++, text = end + 1) {
		unsigned long at = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || at >= o->grid.dims[dim])
			return 0;
		point.at[dim] = (uint16_t)at;
		if (*end != (dim + 1 < o->grid.n_dims ? ',' : 0))
			return 0;
	}
	for (uint32_t id = 1; id <= o->grid.n_points; id++)
		if (!memcmp(&o->points[id - 1], &point, sizeof(point)))
			return id;
	return 0;
}

static int find_host(const struct ethd *d, const char *about, uint32_t *ret, char *why,
		     size_t why_size)
{
	const struct ethd_options *o = &d->options;
	uint32_t id = ethd_names_find(&o->names, about);
	char *end;

	if (!id && strchr(about, ','))
		id = find_at(o, about);
	if (!id && *about >= '0' && *about <= '9') {
		unsigned long n = strtoul(about, &end, 10);

		id = !*end && n <= o->grid.n_points ? (uint32_t)n : 0;
	}
	if (!id)
		return refuse(
			why, why_size,
			"no host %.100s in the hypercrossbar of this host, which has %u; name "
			"one of cluster.toml, its id, or its coordinates as in 1,0,2",
			about, o->grid.n_points);
	*ret = id;
	return 0;
}

/* ---- JSON ---- */

static json_t *numbers(const uint16_t *values, uint32_t n)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(array, json_integer(values[i]));
	return array;
}

static void put_host(const struct ethd *d, json_t *object, const char *prefix, uint32_t id)
{
	char key[32];

	json_object_set_new(object, prefix, json_integer(id));
	snprintf(key, sizeof(key), "%s_name", prefix);
	json_object_set_new(object, key, json_string(ethd_names_of(&d->options.names, id)));
	snprintf(key, sizeof(key), "%s_at", prefix);
	json_object_set_new(object, key, ethd_report_place(d, id));
}

static const char *closed_name(enum ethd_closed closed)
{
	static const char *const names[] = {[ETHD_CLOSED_RAIL] = "rail",
					    [ETHD_CLOSED_LINE] = "line",
					    [ETHD_CLOSED_HOST] = "host",
					    [ETHD_CLOSED_LINK] = "link"};

	return names[closed];
}

static void add_closed(const struct ethd *d, json_t *list, uint32_t rail, uint32_t at)
{
	const struct ethd_neighbour *n = &d->grid->lines[rail][at];
	struct eth_point point = d->options.grid.own;
	json_t *object =
		json_pack("{s:i, s:s, s:s, s:s}", "rail", (int)rail, "nic", d->rails[rail].name,
			  "dead", closed_name(ethd_route_closed(d, rail, at)), "why",
			  n->id ? ethd_report_closed(d, rail, n) : "no host, or marked as defect");

	put_host(d, object, "to", n->id);
	point.at[d->options.grid.dim[rail]] = (uint16_t)at;
	json_object_set_new(object, "to_at", numbers(point.at, d->options.grid.n_dims));
	json_array_append_new(list, object);
}

/*
 * The links that frames would take and don't: of each dimension until one is open, that by which
 * they go.
 */
static json_t *closed_of(const struct ethd *d, const struct eth_point *dst, uint32_t lane)
{
	const struct eth_grid *grid = &d->options.grid;
	json_t *list = json_array();

	for (uint32_t dim = 0; dst->is_known && dim < grid->n_dims; dim++) {
		for (uint32_t i = 0; dst->at[dim] != grid->own.at[dim] && i < grid->n_lanes[dim];
		     i++) {
			uint32_t rail = grid->rail[dim][(lane + i) % grid->n_lanes[dim]];

			if (d->grid->lines[rail][dst->at[dim]].is_open)
				return list;
			add_closed(d, list, rail, dst->at[dim]);
		}
	}
	return list;
}

static json_t *note_of(const struct ethd *d, const struct eth_hop *hop, uint32_t lane)
{
	const struct eth_grid *grid = &d->options.grid;
	uint32_t dim = grid->dim[hop->rail];
	char text[64];

	if (hop->late & ETH_LATE_ASIDE)
		snprintf(text, sizeof(text), "detour: a step aside along %c", axes[dim]);
	else if (hop->late == dim + 1)
		snprintf(text, sizeof(text), "detour: %c, put last", axes[dim]);
	else if (hop->late)
		snprintf(text, sizeof(text), "detour: %c comes last",
			 axes[(hop->late - 1) % ETH_DIMS]);
	else if (grid->lane[hop->rail] != lane % grid->n_lanes[dim])
		snprintf(text, sizeof(text), "other lane: the usual one is closed");
	else
		return json_null();
	return json_string(text);
}

static json_t *mac_of(const uint8_t mac[ETH_MAC])
{
	char text[3 * ETH_MAC];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_string(text);
}

/* Of our own link what discovery heard; names and addresses of others' NICs are not known here. */
static void put_nics(const struct ethd *d, json_t *object, const struct eth_hop *hop, uint32_t to)
{
	int at = hop->host == d->host ? ethd_grid_place(d, hop->rail, to) : -1;
	const struct ethd_peer *peer = at < 0 ? NULL : ethd_peers_find(&d->discover->peers, to);

	json_object_set_new(object, "nic",
			    at < 0 ? json_null() : json_string(d->rails[hop->rail].name));
	json_object_set_new(object, "to_nic",
			    peer ? json_string(peer->ears[hop->rail].rail_name) : json_null());
	json_object_set_new(object, "to_mac",
			    at < 0 ? json_null() : mac_of(d->grid->lines[hop->rail][at].mac));
}

static json_t *hop_of(const struct ethd *d, const struct eth_hop *hop, uint32_t to, uint32_t lane)
{
	json_t *object = json_pack("{s:i, s:i, s:o}", "rail", (int)hop->rail, "dim",
				   d->options.grid.dim[hop->rail], "note", note_of(d, hop, lane));

	put_host(d, object, "host", hop->host);
	put_host(d, object, "to", to);
	put_nics(d, object, hop, to);
	return object;
}

/* The rails whose frames take the way of a lane. */
static json_t *rails_of(const struct ethd *d, uint32_t lane)
{
	json_t *list = json_array();

	for (uint32_t rail = 0; rail < d->n_rails; rail++)
		if (d->options.grid.lane[rail] == lane)
			json_array_append_new(list, json_string(d->rails[rail].name));
	return list;
}

static json_t *why_not(const struct ethd *d, int err, uint32_t last, uint32_t dst)
{
	const char *name = ethd_names_of(&d->options.names, dst);
	char text[256];

	if (!err)
		return json_null();
	if (err == -ENOENT)
		snprintf(text, sizeof(text),
			 "%s has no place in the hypercrossbar, or is marked as defect", name);
	else if (is_dead(d, dst))
		snprintf(text, sizeof(text), "%s answers on none of our rails to it", name);
	else if (last == d->host)
		snprintf(text, sizeof(text), "no way is open from here, nor a detour");
	else
		snprintf(text, sizeof(text), "no way is open from %s on",
			 ethd_names_of(&d->options.names, last));
	return json_string(text);
}

static json_t *way_of(const struct ethd *d, const struct eth_walk *walk, uint32_t dst,
		      uint32_t lane)
{
	struct eth_hop hops[ETH_WALK_MAX + 1] = {0};
	json_t *list = json_array();
	uint32_t n = 0;
	int err = eth_walk(walk, d->host, dst, lane, hops, &n);
	bool is_detour = false;

	for (uint32_t i = 0; i < n; i++) {
		is_detour |= hops[i].late != 0;
		json_array_append_new(list, hop_of(d, &hops[i], hops[i + 1].host, lane));
	}
	return json_pack("{s:i, s:o, s:b, s:b, s:o, s:o, s:o}", "lane", (int)lane, "rails",
			 rails_of(d, lane), "is_reached", !err, "is_detour", is_detour, "why_not",
			 why_not(d, err, hops[n].host, dst), "hops", list, "closed",
			 closed_of(d, &d->options.points[dst - 1], lane));
}

static uint32_t usual_links(const struct ethd *d, uint32_t dst)
{
	const struct eth_grid *grid = &d->options.grid;
	const struct eth_point *point = &d->options.points[dst - 1];
	uint32_t n = 0;

	for (uint32_t dim = 0; point->is_known && dim < grid->n_dims; dim++)
		n += point->at[dim] != grid->own.at[dim];
	return n;
}

int ethd_report_route(const struct ethd *d, const char *about, json_t *ret, char *why,
		      size_t why_size)
{
	const struct ethd_options *o = &d->options;
	json_t *ways = json_array();
	struct eth_walk walk;
	uint32_t dst = 0, n_lanes = 0;
	int err = d->grid ? find_host(d, about, &dst, why, why_size) : -EOPNOTSUPP;

	if (!err)
		err = eth_walk_init(&walk, &o->grid, o->points);
	if (err) {
		json_decref(ways);
		return err;
	}
	walk.is_open = is_open;
	walk.arg = (void *)d;
	for (uint32_t dim = 0; dim < o->grid.n_dims; dim++)
		if (o->grid.n_lanes[dim] > n_lanes)
			n_lanes = o->grid.n_lanes[dim];
	for (uint32_t lane = 0; dst != d->host && lane < n_lanes; lane++)
		json_array_append_new(ways, way_of(d, &walk, dst, lane));
	eth_walk_fini(&walk);
	put_host(d, ret, "from", d->host);
	put_host(d, ret, "to", dst);
	json_object_set_new(ret, "links_usual", json_integer(usual_links(d, dst)));
	json_object_set_new(ret, "ways", ways);
	return 0;
}
