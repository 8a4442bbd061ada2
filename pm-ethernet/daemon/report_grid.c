// SPDX-License-Identifier: BSD-3-Clause
/* Faults of the wiring are found in what discovery heard, anew for each report. */
#include "pm-ethernet/daemon/report_grid.h"

#include "pm-ethernet/daemon/discover.h"
#include "pm-ethernet/daemon/grid.h"

static json_t *numbers(const uint16_t *values, uint32_t n)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(array, json_integer(values[i]));
	return array;
}

const char *ethd_report_closed(const struct ethd *d, uint32_t rail, const struct ethd_neighbour *n)
{
	if (!d->rails[rail].is_up || !d->rails[rail].is_programmed)
		return "our rail is down";
	if (!n->is_heard)
		return "never heard";
	if (n->mtu != d->rails[rail].mtu)
		return "other MTU";
	return "silent";
}

static json_t *line_of(const struct ethd *d, uint32_t rail)
{
	const struct eth_grid *grid = &d->options.grid;
	json_t *open = json_array(), *closed = json_array();
	uint32_t dim = grid->dim[rail];

	for (uint32_t at = 0; at < grid->dims[dim]; at++) {
		const struct ethd_neighbour *n = &d->grid->lines[rail][at];

		if (n->id && n->is_open)
			json_array_append_new(open, json_integer(n->id));
		else if (n->id)
			json_array_append_new(closed,
					      json_pack("{s:I, s:s}", "host", (json_int_t)n->id,
							"why", ethd_report_closed(d, rail, n)));
	}
	return json_pack("{s:i, s:s, s:i, s:i, s:o, s:o}", "rail", (int)rail, "nic",
			 d->rails[rail].name, "dim", (int)dim, "lane", grid->lane[rail], "open",
			 open, "closed", closed);
}

static json_t *faults_of(const struct ethd *d)
{
	json_t *faults = json_array();
	char why[512];

	for (uint32_t place = 0; place < ETH_HOSTS; place++) {
		const struct ethd_peer *peer = d->discover->peers.places[place];

		for (uint32_t rail = 0; peer && rail < d->n_rails; rail++)
			if (ethd_ear_is_used(&peer->ears[rail]) && peer->ears[rail].is_alive &&
			    ethd_grid_fault(d, rail, peer, why, sizeof(why)))
				json_array_append_new(faults,
						      json_pack("{s:s, s:s}", "nic",
								d->rails[rail].name, "what", why));
	}
	return faults;
}

json_t *ethd_report_grid(const struct ethd *d)
{
	const struct eth_grid *grid = &d->options.grid;
	json_t *lines;

	if (!d->grid)
		return json_null();
	lines = json_array();
	for (uint32_t rail = 0; rail < d->n_rails; rail++)
		json_array_append_new(lines, line_of(d, rail));
	return json_pack("{s:o, s:o, s:I, s:f, s:I, s:o, s:o}", "dims",
			 numbers(grid->dims, grid->n_dims), "at",
			 numbers(grid->own.at, grid->n_dims), "hosts", (json_int_t)grid->n_points,
			 "watch_ms", d->options.watch_ns / 1e6, "watches_unsent",
			 (json_int_t)d->grid->n_unsent, "lines", lines, "faults", faults_of(d));
}

json_t *ethd_report_place(const struct ethd *d, uint32_t id)
{
	const struct ethd_options *o = &d->options;

	if (!id || id > o->grid.n_points || !o->points[id - 1].is_known)
		return json_null();
	return numbers(o->points[id - 1].at, o->grid.n_dims);
}
