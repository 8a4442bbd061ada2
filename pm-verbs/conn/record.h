/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - what a link knows of a peer. Each field has one file that writes it, named before the
 * fields.
 *
 * A connection is a pair of RC queue pairs, and more of them (lanes) for large operations. It may
 * end at any time: an error, a stale key, a broken rail. The next one goes on where it stopped:
 * both sides count the messages that arrived, and greet with that number.
 */
#ifndef PM_VERBS_CONN_RECORD_H
#define PM_VERBS_CONN_RECORD_H

#include "pm-verbs/conn/lifetable.h"
#include "pm-verbs/conn/wire.h"
#include "pm-verbs/hw/link.h"

struct pmv_lanes; /* lanes.c */
struct pmv_grant; /* data/grants.h */

enum pmv_stage {
	PMV_IDLE,     /* no queue pair */
	PMV_DRAINING, /* the old one has failed, and has not given all back */
	PMV_GREETING, /* ours is made, the other side has not said that it is connected to it */
	PMV_READY,
	PMV_CLOSING, /* one side wants to end it: closing.c */
};

struct pm_link_peer {
	/* peer.c */
	struct pm_link_peer *next; /* all of the link */
	uint32_t node;
	uint64_t life; /* of this record: see struct pmv_greeting */
	struct pmv_address address;
	struct pmv_pair pairs[PM_RAILS_MAX];
	uint32_t n_pairs;
	/* life.c */
	enum pmv_peer_state state;
	uint64_t next_life; /* of the newer record of theirs, while RENEWING or RETURNING */
	/* wireup.c; life.c when a newer record takes its place */
	uint64_t their_life; /* 0 = not heard */
	/* greeting.c; peer.c closes the paths */
	struct pmv_path *paths[PM_RAILS_MAX]; /* of each pair, NULL until used */
	uint32_t greeted;                     /* greetings sent of this epoch */
	uint64_t next_greeting_ns, pause_ns;
	/* silence.c */
	bool is_doubted;     /* receive() shall tell that it is silent */
	bool is_vouched;     /* its process has answered by another device once */
	uint32_t n_doubts;   /* times that this silence was told */
	uint64_t give_up_ns; /* the time when it is given up, UINT64_MAX = never */
	uint64_t doubt_ns;   /* ... when receive() tells that it is silent, the same */
	uint64_t lost_ns;    /* how long the next connection may take, UINT64_MAX = peer_timeout */
	/* pair.c */
	uint32_t epoch; /* number of the connection, 0 = none yet */
	/* connection.c; closing.c begins CLOSING */
	enum pmv_stage stage;
	struct pmv_qp *qp;
	uint32_t psn;
	uint32_t token_out, token_in; /* of its messages: see wire.h */
	uint32_t offered;             /* receives posted when the queue pair was made */
	uint32_t failures; /* connections lost since something was acknowledged or arrived */
	bool is_parted;    /* the last connection ended in agreement */
	/* lanes.c */
	struct pmv_lanes *lanes; /* NULL until a large operation wants some */
	/* places.c */
	struct pm_link_peer *next_waiting;
	bool is_waiting;  /* for a place */
	bool is_called;   /* the peer has greeted for the next connection */
	bool is_calling;  /* we have, and nothing was heard */
	uint64_t call_ns; /* how long our call waits for an answer when others want its place */
	uint64_t used;    /* pmv_link.turn when something last went or came, 0 = not yet */
	/* places.c while it waits or is called, closing.c while it closes */
	uint64_t since_ns; /* waiting, READY, CLOSING: since when */
	/* closing.c; data/tx.c when the CLOSE is posted */
	bool is_closed;       /* the peer's CLOSE came: it sends nothing more */
	bool is_close_posted; /* our CLOSE */

	/* what goes out: data/tx.c, and data/traffic.c when a connection comes or goes */
	struct pmv_list control; /* waits for a credit */
	struct pmv_list queue;   /* messages of the user that wait for a credit or a connection */
	struct pmv_list posted;  /* in the order of their numbers */
	uint64_t first;          /* number of the first in posted */
	uint32_t n_lent;         /* send buffers of the user */
	uint32_t credits; /* receives that the peer has for us; data/rx.c adds those it hears of */
	/*
	 * what comes in: data/rx.c, and data/traffic.c as above; data/tx.c takes off owed what it
	 * tells
	 */
	uint64_t received;     /* messages of all kinds over all connections */
	bool is_forged;        /* a forged one came: what is lost, the next connection tells */
	uint32_t n_held;       /* arrived or lent to the user */
	uint32_t owed;         /* receives posted again that it was not told of */
	uint32_t owed_control; /* of them, used by control messages */
	/* data/grants.c */
	struct pmv_grant *grants; /* newest first */
	uint32_t n_grants;
	/* data/export.c */
	uint32_t n_told; /* regions of ours whose keys it has */
	/* data/rma.c */
	struct pmv_op *ops; /* its one-sided operations that are not over */

	/* whoever sees something go wrong */
	char why[192]; /* how it died or left; before: what went wrong last */
};

#endif
