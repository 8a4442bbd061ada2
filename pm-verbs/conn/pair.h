/* SPDX-License-Identifier: BSD-3-Clause */
/* pair - which pair of rails a connection takes. */
#ifndef PM_VERBS_CONN_PAIR_H
#define PM_VERBS_CONN_PAIR_H

#include "pm-verbs/conn/record.h"

/* Which of its pairs of rails the connection takes. */
uint32_t pmv_pair_of(const struct pmv_link *link, const struct pm_link_peer *peer);
/* The other end of that pair. */
const struct pmv_end *pmv_pair_end(const struct pm_link_peer *peer, uint32_t pair);
/*
 * The next connection begins: by a pair of rails of which ours is up, if there is one. The other
 * side does the same with its own. When the numbers differ, both take the higher one.
 */
void pmv_pair_next(struct pmv_link *link, struct pm_link_peer *peer);

/* The other side greets for the connection with number @epoch, which is to be the next one. */
static inline void pmv_pair_follow(struct pm_link_peer *peer, uint32_t epoch)
{
	peer->epoch = epoch - 1;
}
/* The next connection keeps the pair of rails of this one. */
static inline void pmv_pair_keep(struct pm_link_peer *peer)
{
	peer->epoch += peer->n_pairs - 1;
}
/* A new record of the peer has had no connection. */
static inline void pmv_pair_restart(struct pm_link_peer *peer)
{
	peer->epoch = 0;
}

#endif
