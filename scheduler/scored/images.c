// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/images.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scored/nodes.h"

struct writers {
	const struct scored *scored;
	bool *has;         /* by number of the node */
	char missing[256]; /* a host that is not connected; "": none */
};

static void add(struct writers *w, const struct order *order)
{
	for (size_t h = 0; h < order->n_hosts; h++) {
		const struct node *node = nodes_find(w->scored, order->hosts[h].name);

		if (node && node->link)
			w->has[node->number] = true;
		else
			snprintf(w->missing, sizeof(w->missing), "%s", order->hosts[h].name);
	}
}

static void add_of(const struct journal_checkpoint *checkpoint, void *owner)
{
	json_t *json = json_loads(checkpoint->order, JSON_REJECT_DUPLICATES, NULL);
	struct order *order;
	char why[200];

	/* One that nobody can read is no restart's either. */
	if (!order_decode(&order, json, why, sizeof(why))) {
		add(owner, order);
		order_free(order);
	}
	json_decref(json);
}

static void tell(const struct writers *w, const struct images_removal *removal)
{
	for (size_t i = 0; i < w->scored->n_nodes; i++)
		if (w->has[i])
			nodes_send(w->scored->nodes[i],
				   json_pack("{s:s, s:I, s:I, s:s}", "op", OP_IMAGE, "id",
					     (json_int_t)removal->order->id, "round",
					     (json_int_t)removal->round, "stage", "remove"));
}

int images_remove(struct scored *d, const struct images_removal *removal, char *why,
		  size_t why_size)
{
	struct writers w = {.scored = d, .has = calloc(d->n_nodes + 1, sizeof(*w.has))};
	uint64_t id = removal->order->id;
	int err;

	if (!w.has) {
		snprintf(why, why_size, "scored has no memory");
		return -ENOMEM;
	}
	add(&w, removal->order);
	err = journal_checkpoints(d->journal, id, add_of, &w, why, why_size);
	if (!err && removal->is_whole && *w.missing) {
		snprintf(why, why_size,
			 "host %s, which has images of job %" PRIu64 ", is not connected; try "
			 "again when scinfo shows it as up",
			 w.missing, id);
		err = -EHOSTDOWN;
	}
	if (!err) {
		tell(&w, removal);
		err = journal_checkpoints_forget(d->journal, id, why, why_size);
	}
	free(w.has);
	return err;
}
