// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_pull - long puts of other processes, whose bytes we read: PM reads by a stream where there
 * is one, and writes in datagrams.
 */
#include "mpi-glue/btl/btl_pm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ENOBUFS: not yet. */
static int start(struct btl_pm_pull *p)
{
	const struct active_pull *m = &p->request;
	void *to = btl_pm_find(m->request.region, m->request.address, m->length,
			       MCA_BTL_REG_FLAG_REMOTE_WRITE);
	pmHandle source;

	if (!to)
		return EACCES;
	memcpy(source.word, m->handle, sizeof(source.word));
	return pmRead(mtl_pm.ctx, p->from->node, &source, 0, to, m->length, &p->desc);
}

void btl_pm_on_pull(const struct active_pull *m, struct mca_btl_base_endpoint_t *from)
{
	struct btl_pm_pull *p;
	int rc;

	/* an honest peer waits */
	if (from->n_pulls >= ACTIVE_PULLS_MAX) {
		btl_pm.damaged++;
		return;
	}
	p = malloc(sizeof(*p));
	if (!p)
		btl_pm_no_memory();
	*p = (struct btl_pm_pull){.from = from, .request = *m};
	rc = start(p);
	if (!rc || rc == ENOBUFS) {
		TAILQ_INSERT_TAIL(&btl_pm.pulls, p, link);
		from->n_pulls++;
		mtl_pm.has_client_work = true;
		return;
	}
	btl_pm_answer_put(from, m->request.id, rc);
	free(p);
}

int btl_pm_poll_pulls(void)
{
	struct btl_pm_pull *p, *next;
	int n = 0;

	for (p = TAILQ_FIRST(&btl_pm.pulls); p; p = next) {
		int rc = p->desc ? 0 : start(p);

		next = TAILQ_NEXT(p, link);
		if (!rc)
			rc = pmIsReadDone(mtl_pm.ctx, p->desc);
		if (rc == ENOBUFS)
			continue;
		TAILQ_REMOVE(&btl_pm.pulls, p, link);
		p->from->n_pulls--;
		btl_pm_answer_put(p->from, p->request.request.id, rc);
		free(p);
		n++;
	}
	return n;
}

void btl_pm_pulls_free(void)
{
	while (!TAILQ_EMPTY(&btl_pm.pulls)) {
		struct btl_pm_pull *p = TAILQ_FIRST(&btl_pm.pulls);

		TAILQ_REMOVE(&btl_pm.pulls, p, link);
		free(p);
	}
}
