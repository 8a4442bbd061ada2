/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes - the hosts: those of cluster.json and those that registered, which of them take jobs, and
 * what is sent to them.
 */
#ifndef SCHEDULER_SCORED_NODES_H
#define SCHEDULER_SCORED_NODES_H

#include "scheduler/scored/scored.h"

/*
 * Adds the hosts of cluster.json, as absent; updates the hosts that are known already. A host that
 * is no longer in the file takes no new job. 0 or -ENOMEM.
 */
int nodes_read(struct scored *d);
void nodes_close(struct scored *d);
struct node *nodes_find(const struct scored *d, const char *name);
/* The node of that name, made absent if it is new. NULL: no memory. */
struct node *nodes_make(struct scored *d, const char *name);
/* Sends, takes the reference; nothing if the node is not there. */
void nodes_send(struct node *node, json_t *head);
void nodes_send_shared(struct node *node, json_t *head, struct shared *body);
/* Can take new jobs. */
bool nodes_is_usable(const struct node *node);
const char *nodes_state_name(const struct node *node);
/* Sets why it is drained or lost; NULL or "": no reason is known. */
void nodes_note(struct node *node, const char *note);
/* By an operator. */
void nodes_drain(struct scored *d, struct node *node, bool is_drained, const char *note);

#endif
