/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl_pm_short - hands a short message to PM in one call. */
#ifndef MTL_PM_SHORT_H
#define MTL_PM_SHORT_H

#include <string.h>

#include "mpi-glue/mtl/mtl_pm.h"

/*
 * A message that is cheaper to gather here than to reserve room for: it fits two cells of shared
 * memory.
 */
struct mtl_pm_short {
	struct envelope e;
	char data[40];
};

static inline int mtl_pm_post_short(const struct mtl_pm_peer *peer, uint32_t context, int32_t rank,
				    int32_t tag, const char *data, size_t length)
{
	struct mtl_pm_short m;

	m.e.kind_context = envelope_pack(ENVELOPE_EAGER, context);
	m.e.source = rank;
	m.e.tag = tag;
	m.e.pad = 0;
	memcpy(m.data, data, length);
	return pmPost(mtl_pm.ctx, peer->node, &m, sizeof(m.e) + length);
}

/* The same for one that is not gathered here: PM puts the envelope in front of it. */
static inline int mtl_pm_post_with_head(const struct mtl_pm_peer *peer, uint32_t context,
					int32_t rank, int32_t tag, const char *data, size_t length)
{
	const struct envelope e = {
		.kind_context = envelope_pack(ENVELOPE_EAGER, context), .source = rank, .tag = tag};
	size_t done;

	return pmPostRow(mtl_pm.ctx, peer->node, &e, sizeof(e), data, length, length, &done);
}

#endif
