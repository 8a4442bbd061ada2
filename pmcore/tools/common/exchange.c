// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/tools/common/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- grids ---- */

int exchange_read_grid(const char *text, struct exchange_grid *ret_grid)
{
	struct exchange_grid grid = {.n_dims = 0};
	unsigned long extent;
	char *end;

	for (;; text = end + 1) {
		if (grid.n_dims == EXCHANGE_DIMS || *text < '0' || *text > '9')
			return -EINVAL;
		extent = strtoul(text, &end, 10);
		if (extent < 1 || extent > UINT16_MAX + 1ul || (*end && *end != 'x'))
			return -EINVAL;
		grid.dims[grid.n_dims++] = (uint32_t)extent;
		if (!*end)
			break;
	}
	if (exchange_volume(&grid) > UINT32_MAX)
		return -EINVAL;
	*ret_grid = grid;
	return 0;
}

void exchange_grid_text(const struct exchange_grid *grid, char text[EXCHANGE_TEXT])
{
	size_t used = 0;

	*text = '\0';
	for (uint32_t d = 0; d < grid->n_dims; d++)
		used += (size_t)snprintf(text + used, EXCHANGE_TEXT - used, "%s%" PRIu32,
					 d ? "x" : "", grid->dims[d]);
}

uint64_t exchange_volume(const struct exchange_grid *grid)
{
	uint64_t n = 1;

	/* Six extents of at most 2^16 overflow: what is too much stays too much. */
	for (uint32_t d = 0; d < grid->n_dims && n <= UINT32_MAX; d++)
		n *= grid->dims[d];
	return n;
}

uint32_t exchange_neighbour(const struct exchange_grid *grid, uint32_t node, uint32_t dimension,
			    bool is_up)
{
	uint32_t stride = 1, extent = grid->dims[dimension], here, there;

	for (uint32_t d = dimension + 1; d < grid->n_dims; d++)
		stride *= grid->dims[d];
	here = node / stride % extent;
	there = (here + (is_up ? 1 : extent - 1)) % extent;
	return node - here * stride + there * stride;
}

/* ---- partners ---- */

static int reserve(struct exchange *ex, uint32_t room)
{
	*ex = (struct exchange){.node = calloc(room, sizeof(*ex->node)),
				.is_done = calloc(room, sizeof(*ex->is_done))};
	if (ex->node && ex->is_done)
		return 0;
	exchange_close(ex);
	return -ENOMEM;
}

static void add(struct exchange *ex, uint32_t node)
{
	ex->node[ex->n++] = node;
	ex->left++;
}

int exchange_open_all(struct exchange *ex, uint32_t self, uint32_t nodes)
{
	int rc = reserve(ex, nodes);

	for (uint32_t k = 1; !rc && k < nodes; k++)
		add(ex, (self + k) % nodes);
	if (!rc && !ex->n)
		add(ex, self);
	return rc;
}

int exchange_open_neighbours(struct exchange *ex, const struct exchange_grid *grid, uint32_t self)
{
	int rc = reserve(ex, 2 * EXCHANGE_DIMS);

	for (uint32_t d = 0; !rc && d < grid->n_dims; d++) {
		if (grid->dims[d] == 1)
			continue;
		add(ex, exchange_neighbour(grid, self, d, true));
		add(ex, exchange_neighbour(grid, self, d, false));
	}
	if (!rc && !ex->n)
		add(ex, self);
	return rc;
}

void exchange_close(struct exchange *ex)
{
	free(ex->node);
	free(ex->is_done);
	*ex = (struct exchange){.n = 0};
}

/* ---- steps ---- */

uint32_t exchange_due(struct exchange *ex)
{
	uint32_t place;

	while (ex->is_done[ex->at])
		ex->at = (ex->at + 1) % ex->n;
	place = ex->at;
	ex->at = (ex->at + 1) % ex->n;
	return place;
}

void exchange_done(struct exchange *ex, uint32_t place)
{
	ex->is_done[place] = true;
	if (--ex->left)
		return;
	memset(ex->is_done, 0, ex->n * sizeof(*ex->is_done));
	ex->left = ex->n;
	ex->at = 0;
}
