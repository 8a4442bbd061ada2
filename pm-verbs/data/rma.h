/* SPDX-License-Identifier: BSD-3-Clause */
/* rma - one-sided operations, the asking side. */
#ifndef PM_VERBS_DATA_RMA_H
#define PM_VERBS_DATA_RMA_H

#include "pm-verbs/conn/record.h"

#define PMV_OPS 256 /* one-sided operations open at once */
#define PMV_PIECE_BYTES (1u << 20)

struct pmv_piece; /* rma.c */

int pmv_read(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	     void *local, uint64_t len, uint32_t *ret_op);
int pmv_write(struct pm_link *base, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	      const void *local, uint64_t len, uint32_t *ret_op);
int pmv_rma_done(struct pm_link *base, uint32_t op);
void pmv_piece_done(struct pmv_link *link, struct pmv_piece *piece, enum ibv_wc_status status);
void pmv_granted(struct pmv_link *link, struct pm_link_peer *peer,
		 const struct pmv_control *control);
/* Goes on with the peer's operations as far as its queue pair takes them. */
void pmv_rma_pump(struct pmv_link *link, struct pm_link_peer *peer);
/* The connection is lost: what was granted counts no more. */
void pmv_rma_lost(struct pmv_link *link, struct pm_link_peer *peer);
/* The peer is no more: its operations end with -EPIPE. */
void pmv_rma_abort(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_rma_fini(struct pmv_link *link);
/* See struct pm_leave_ops. */
int pmv_rma_unfinished(struct pm_link *base, struct pm_link_peer *peer, struct pm_unfinished *ops,
		       int room);
void pmv_rma_finish(struct pm_link *base, uint32_t op, int result);

/* Goes on with operations that waited for memory, if some has been given back. */
void pmv_rma_turn(struct pmv_link *link);

#endif
