/* SPDX-License-Identifier: BSD-3-Clause */
/* silence - how long a node may be silent before it counts as dead. */
#ifndef PM_VERBS_CONN_SILENCE_H
#define PM_VERBS_CONN_SILENCE_H

#include "pm-verbs/conn/record.h"

/* All our ports that lead to the peer say that they are down. */
bool pmv_is_cut_off(const struct pmv_link *link, const struct pm_link_peer *peer);
/* How long the next connection to the peer may take, UINT64_MAX = as a first contact. */
static inline void pmv_silence_set(struct pm_link_peer *peer, uint64_t lost_ns)
{
	peer->lost_ns = lost_ns;
}
/*
 * The peer is greeted for a connection, or heard of meanwhile: from @now on it may be silent for so
 * long.
 */
void pmv_silence_begin(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/*
 * It is still silent at @now: where another device could take it, receive() says so from time to
 * time.
 */
void pmv_silence_doubt(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/*
 * Its connection is closed in agreement, so it lives: where another device could take it, that
 * shall hear so too.
 */
void pmv_silence_parted(struct pmv_link *link, struct pm_link_peer *peer);
/* It is not greeted for any more, or receive() has said so. */
void pmv_silence_undoubt(struct pmv_link *link, struct pm_link_peer *peer);
/* Its process has answered by another device. */
void pmv_silence_lives(struct pm_link *base, struct pm_link_peer *peer);
/*
 * A send of @qp was not acknowledged: how long its peer may take to come back, UINT64_MAX = as a
 * first contact.
 */
uint64_t pmv_silence_lost(struct pmv_link *link, struct pmv_qp *qp);
/* The rail has failed, or works again: silence by it says nothing of others. */
void pmv_silence_of_rail(struct pmv_link *link, struct pmv_rail *rail);

#endif
