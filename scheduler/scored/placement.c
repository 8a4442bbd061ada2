// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/placement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_grid(const struct job *job, char *to, size_t size)
{
	size_t used = 0;

	for (uint32_t i = 0; i < job->n_cart && used < size; i++)
		used += (size_t)snprintf(to + used, size - used, "%s%u", i ? "x" : "",
					 job->cart[i]);
}

static int fold_grid(struct placement *p, const struct job *job, uint32_t per_host, char *why,
		     size_t why_size)
{
	struct fold_grid processes = {.n_dims = job->n_cart};
	char grid[80];

	memcpy(processes.dims, job->cart, sizeof(processes.dims));
	say_grid(job, grid, sizeof(grid));
	if (per_host * p->n_wanted != job->ranks) {
		snprintf(why, why_size,
			 "map cart=%s: %u hosts don't hold the same number of its %u ranks each; "
			 "give -nodes=HOSTSxRANKS with a product of %u",
			 grid, p->n_wanted, job->ranks, job->ranks);
		return -EINVAL;
	}
	if (fold_hosts(&processes, per_host, &p->grid)) {
		snprintf(why, why_size,
			 "map cart=%s: %u ranks per host are no block of it; take a number of "
			 "ranks per host that divides %u, or whole lines of the last dimension",
			 grid, per_host, processes.dims[processes.n_dims - 1]);
		return -EINVAL;
	}
	p->n_folds = fold_ways(&p->grid, &p->cluster->space, p->folds, PLACEMENT_WAYS);
	if (!p->n_folds) {
		snprintf(why, why_size,
			 "map cart=%s with %u ranks per host does not fit the dimensions of the "
			 "network; 'scconf show' tells them; leave -map out to have any hosts",
			 grid, per_host);
		return -EINVAL;
	}
	p->is_cart = true;
	return 0;
}

int placement_open(struct placement *p, const struct scored *d, const struct job *job, uint32_t n,
		   uint32_t per_host, char *why, size_t why_size)
{
	*p = (struct placement){.cluster = d->cluster, .nodes = d->nodes, .n_wanted = n};
	if (!d->cluster || !d->cluster->space.n_dims || n < 2 || job->may_scatter)
		return -ENOENT;
	return job->n_cart ? fold_grid(p, job, per_host, why, why_size) : 0;
}

/* ---- picking ---- */

/* The free hosts, by point of the network. */
struct field {
	bool *is_free;
	uint32_t *node_of;
};

static bool field_open(struct field *field, const struct placement *p, const uint32_t *fitting,
		       size_t n)
{
	const struct box_space *space = &p->cluster->space;
	uint32_t points = 1;

	for (uint32_t d = 0; d < space->n_dims; d++)
		points *= space->dims[d];
	field->is_free = calloc(points, sizeof(*field->is_free));
	field->node_of = calloc(points, sizeof(*field->node_of));
	for (size_t i = 0; field->is_free && field->node_of && i < n; i++) {
		long point = p->nodes[fitting[i]]->point;

		if (point < 0)
			continue;
		field->is_free[point] = true;
		field->node_of[point] = fitting[i];
	}
	return field->is_free && field->node_of;
}

static void field_close(struct field *field)
{
	free(field->is_free);
	free(field->node_of);
}

static bool pick_folded(const struct placement *p, const struct field *field, struct box *box,
			uint32_t *chosen)
{
	const struct box_space *space = &p->cluster->space;
	uint32_t at[BOX_DIMS];

	for (size_t i = 0; i < p->n_folds; i++) {
		if (box_find(space, field->is_free, &p->folds[i].shape, box))
			continue;
		for (uint32_t k = 0; k < p->n_wanted; k++) {
			fold_place(&p->grid, &p->folds[i], k, at);
			chosen[k] = field->node_of[box_point(space, box, at)];
		}
		return true;
	}
	return false;
}

/* A box of @volume hosts, of which the first ones are taken. */
static bool pick_volume(const struct placement *p, const struct field *field, uint32_t volume,
			struct box *box, uint32_t *chosen)
{
	const struct box_space *space = &p->cluster->space;
	struct box_shape shapes[PLACEMENT_WAYS];
	size_t n = box_shapes(space, volume, shapes, PLACEMENT_WAYS);
	struct box_space inside = {.n_dims = BOX_DIMS};
	uint32_t at[BOX_DIMS];

	for (size_t i = 0; i < n; i++) {
		if (box_find(space, field->is_free, &shapes[i], box))
			continue;
		memcpy(inside.dims, shapes[i].extent, sizeof(inside.dims));
		for (uint32_t k = 0; k < p->n_wanted; k++) {
			box_coordinates(&inside, k, at);
			chosen[k] = field->node_of[box_point(space, box, at)];
		}
		return true;
	}
	return false;
}

/*
 * No box has 17 hosts: the job gets some of the smallest free one that holds as many, and relays
 * through the rest.
 */
static bool pick_box(const struct placement *p, const struct field *field, struct box *box,
		     uint32_t *chosen)
{
	struct box_shape any;

	if (box_shapes(&p->cluster->space, p->n_wanted, &any, 1))
		return pick_volume(p, field, p->n_wanted, box, chosen);
	for (uint32_t volume = p->n_wanted + 1; volume <= 2 * p->n_wanted; volume++)
		if (pick_volume(p, field, volume, box, chosen))
			return true;
	return false;
}

bool placement_pick(void *arg, const uint32_t *fitting, size_t n, uint32_t *chosen)
{
	const struct placement *p = arg;
	struct box *box = malloc(sizeof(*box));
	struct field field = {0};
	bool is_found = false;

	if (box && field_open(&field, p, fitting, n))
		is_found = p->is_cart ? pick_folded(p, &field, box, chosen)
				      : pick_box(p, &field, box, chosen);
	field_close(&field);
	free(box);
	return is_found;
}
