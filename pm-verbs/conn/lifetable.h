/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lifetable - the life of a peer as a table: what an event does in a state, and which state comes
 * next. Pure: life.c carries out the actions. docs/design/peer-life.md has the drawing, which a
 * test compares with this table.
 */
#ifndef PM_VERBS_CONN_LIFETABLE_H
#define PM_VERBS_CONN_LIFETABLE_H

#include <stdbool.h>

enum pmv_peer_state {
	PMV_PEER_ALIVE,
	PMV_PEER_LEAVING,  /* it said goodbye, and what it sent before may not be taken yet */
	PMV_PEER_RENEWING, /* it is there as a newer record of us, and the same of the old one */
	PMV_PEER_LEFT,
	PMV_PEER_RETURNING, /* it had left, and is there as a newer record */
	PMV_PEER_LOST,      /* another device takes it over; receive() is to tell so */
	PMV_PEER_LOST_TOLD, /* ... and that is known */
	PMV_PEER_DEAD,      /* receive() is to tell so */
	PMV_PEER_DEAD_TOLD,
	/* by the composite; the record is kept for the buffers that are still lent */
	PMV_PEER_DELETED,
	PMV_PEER_STATES
};

enum pmv_life_event {
	PMV_KILLED,   /* it can't live, by what it did or by what has failed */
	PMV_LOST,     /* no connection to it can be had, and another device could take it over */
	PMV_FOLLOWED, /* the other side has lost its way to us, and another device takes over */
	PMV_GOODBYE_SAID,
	PMV_REPLACED,  /* a newer record of theirs is there */
	PMV_ALL_TAKEN, /* all that it sent before is taken */
	PMV_TOLD,      /* the user has been told of its death or loss */
	PMV_FORSAKEN,  /* no other device takes over the lost peer */
	PMV_REMOVED,   /* the composite deletes it */
	PMV_LIFE_EVENTS
};

enum pmv_life_action {
	PMV_DO_NOTHING,
	PMV_DO_BURY,   /* count a dead peer, and give it up */
	PMV_DO_LOSE,   /* end its connection, and keep what was not acknowledged */
	PMV_DO_AWAIT,  /* wait until all that may be in the completion queues is taken */
	PMV_DO_PART,   /* the same, and end a connection that is being made */
	PMV_DO_RENEW,  /* begin anew with the newer record */
	PMV_DO_GIVE_UP /* nothing is sent to it or awaited of it any more */
};

struct pmv_life_row {
	enum pmv_peer_state state;
	enum pmv_life_event event;
	enum pmv_life_action action;
	enum pmv_peer_state next;
};

/* NULL: the event means nothing in this state. */
const struct pmv_life_row *pmv_life_row(enum pmv_peer_state state, enum pmv_life_event event);

/* receive() has to tell of it. */
bool pmv_life_is_untold(enum pmv_peer_state state);

/* It waits until all that came before is taken. */
static inline bool pmv_life_is_passing(enum pmv_peer_state state)
{
	return state == PMV_PEER_LEAVING || state == PMV_PEER_RENEWING ||
	       state == PMV_PEER_RETURNING;
}

#endif
