/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * longread - reads that may go by a stream (pm-udp/stream) beside the device that reaches the node.
 * A read that the stream loses is made again by the device. The stream stands in a slot of the
 * composite but reaches no node by itself.
 */
#ifndef PM_DEVICE_LONGREAD_H
#define PM_DEVICE_LONGREAD_H

#include "pmcore/device/composite.h"

/* A read and how it goes. */
struct longread {
	uint32_t node;
	uint64_t rkey, roffset, len; /* bytes */
	void *local;
	uint8_t slot;    /* of the link */
	bool is_waiting; /* the stream lost it, and the device has no room yet */
	bool is_chosen;  /* choice_end is due, of this spell */
	bool is_counted; /* one of composite.n_reads */
	bool is_over;    /* with @status, which longread_done has not given yet */
	uint32_t spell;
	int status;
	uint32_t op; /* the link's name of it */
};

/*
 * Opens the stream for the rails of the first network device, if stream= allows it. 0 also without
 * one; -ENODEV: it had to be, and c->why says why it is not.
 */
int longread_open(struct composite *c, const struct pm_device_env *env);
/* A node was added, whose address is in c->resolved. Without memory it has no stream. */
void longread_note(struct composite *c, struct composite_node *n);
/* Bytes from which on reading is better than sending; 0: not known, no stream leads to the node. */
uint64_t longread_worth(struct composite *c, const struct composite_node *n);
/* Has the node a connection by which it reads from here? */
bool longread_is_open(struct composite *c, const struct composite_node *n);
/* Starts @r, whose first five members are set. As pm_link_ops.read. */
int longread_start(struct composite *c, struct composite_node *n, struct longread *r);
/* As pm_link_ops.rma_done. */
int longread_done(struct composite *c, struct longread *r);
/*
 * Before the other links are made quiet: 0 when the stream is. Then longread_settle of each read:
 * 0, the stream has no part in it any more; -EAGAIN, poll and ask again. A read that the stream has
 * lost goes by the device from there on.
 */
int longread_quiesce(struct composite *c);
int longread_settle(struct composite *c, struct longread *r);
/* The node is dead or goes: the stream lets go of it. */
void longread_forget(struct composite *c, struct composite_node *n);

#endif
