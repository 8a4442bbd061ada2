// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/lock_news.h"

#include "scheduler/proto/ops.h"
#include "scheduler/scored/locks_inside.h"
#include "scheduler/scored/nodes.h"

static const struct lease *lease_of(const struct scored *d, const struct node *node)
{
	const struct leases *leases = d->locks ? &d->locks->leases : NULL;

	return leases && node->number < leases->n_hosts ? leases->hosts[node->number].exclusive
							: NULL;
}

static void tell(const struct scored *d, struct node *node)
{
	const struct lease *lease = lease_of(d, node);
	uint64_t id = lease ? lease->id : 0;
	json_t *head;
	char text[512];

	if (!node->link || id == node->told_lock)
		return;
	node->told_lock = id;
	head = json_pack("{s:s}", "op", OP_HOST_LOCK);
	if (lease) {
		locks_say(lease->owner, text, sizeof(text));
		json_object_set_new(head, "uid", json_integer((json_int_t)lease->uid));
		json_object_set_new(head, "text", json_string(text));
	}
	nodes_send(node, head);
}

void lock_news_publish(const struct scored *d)
{
	for (size_t i = 0; i < d->n_nodes; i++)
		tell(d, d->nodes[i]);
}

void lock_news_begin(const struct scored *d, struct node *node)
{
	node->told_lock = 0;
	tell(d, node);
}
