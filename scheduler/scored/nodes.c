// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/jobs_list.h"

struct node *nodes_find(const struct scored *d, const char *name)
{
	long at = nameset_place(&d->node_names, name);

	return at < 0 ? NULL : d->nodes[at];
}

/* Sets the fields that come from cluster.json; @at: the host's place there, -1 = none. */
static void list(const struct scored *d, struct node *node, long at)
{
	const struct cluster_host *host = at < 0 ? NULL : &d->cluster->hosts[at];

	node->is_listed = !d->cluster || host;
	node->is_out = d->cluster && !(host && host->is_usable);
	node->point = host ? host->point : -1;
}

static struct node *make(struct scored *d, const char *name)
{
	struct node *node, **nodes;

	nodes = realloc(d->nodes, (d->n_nodes + 1) * sizeof(struct node *));
	node = calloc(1, sizeof(*node));
	if (nodes)
		d->nodes = nodes;
	if (node)
		node->name = strdup(name);
	if (!nodes || !node || !node->name || nameset_add(&d->node_names, node->name)) {
		if (node)
			free(node->name);
		free(node);
		return NULL;
	}
	node->number = (uint32_t)d->n_nodes;
	d->nodes[d->n_nodes++] = node;
	return node;
}

struct node *nodes_make(struct scored *d, const char *name)
{
	struct node *node = nodes_find(d, name);

	if (node)
		return node;
	node = make(d, name);
	if (node)
		list(d, node, d->cluster ? cluster_host_of(d->cluster, name) : -1);
	return node;
}

int nodes_read(struct scored *d)
{
	for (size_t i = 0; i < d->n_nodes; i++)
		list(d, d->nodes[i], cluster_host_of(d->cluster, d->nodes[i]->name));
	for (size_t i = 0; i < d->cluster->n_hosts; i++) {
		const char *name = d->cluster->hosts[i].name;
		struct node *node = nodes_find(d, name);

		if (!node)
			node = make(d, name);
		if (!node)
			return -ENOMEM;
		list(d, node, (long)i);
	}
	return 0;
}

void nodes_close(struct scored *d)
{
	for (size_t i = 0; i < d->n_nodes; i++) {
		struct node *node = d->nodes[i];

		if (node->link)
			link_close(node->link, 1);
		free(node->uplink);
		host_free(node->host);
		free(node->name);
		free(node->note);
		free(node);
	}
	free(d->nodes);
	nameset_fini(&d->node_names);
}

void nodes_send(struct node *node, json_t *head)
{
	if (node->link)
		link_send(node->link, head, NULL, 0);
	else
		json_decref(head);
}

void nodes_send_shared(struct node *node, json_t *head, struct shared *body)
{
	if (node->link)
		link_send_shared(node->link, head, body);
	else
		json_decref(head);
}

void nodes_note(struct node *node, const char *note)
{
	free(node->note);
	node->note = note && *note ? daemon_text("%s", note) : NULL;
}

/* ---- what others ask ---- */

bool nodes_is_usable(const struct node *node)
{
	return node->link && node->state == NODE_UP && !node->is_out;
}

const char *nodes_state_name(const struct node *node)
{
	switch (node->state) {
	case NODE_UP:
		return node->is_out ? "removed" : "up";
	case NODE_DRAINED:
		return "drained";
	default:
		return !node->is_listed   ? "absent, removed"
		       : node->is_drained ? "absent, drained"
					  : "absent";
	}
}

void nodes_drain(struct scored *d, struct node *node, bool is_drained, const char *note)
{
	node->is_drained = is_drained;
	nodes_note(node, note);
	if (node->link)
		node->state = is_drained ? NODE_DRAINED : NODE_UP;
	daemon_say("host %s is %s%s%s", node->name, is_drained ? "drained" : "up",
		   note && *note ? ": " : "", note ? note : "");
	jobs_plan(d);
}
