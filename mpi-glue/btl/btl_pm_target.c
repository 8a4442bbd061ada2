// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_target - memory that other processes may reach, what they ask for, and the answers. A
 * request is carried out only inside a region that is registered at that moment.
 */
#include "mpi-glue/btl/btl_pm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- regions ---- */

mca_btl_base_registration_handle_t *btl_pm_register_mem(mca_btl_base_module_t *btl,
							struct mca_btl_base_endpoint_t *endpoint,
							void *base, size_t size, uint32_t flags)
{
	struct btl_pm_region *r = calloc(1, sizeof(*r));
	bool is_first;

	if (!r)
		return NULL;
	r->length = size;
	r->access = flags;
	r->handle.base = (uintptr_t)base;
	mtl_pm_enter();
	r->handle.region = ids_add(&btl_pm.regions, r);
	if (!r->handle.region || (size && pmMLock(mtl_pm.ctx, base, size, &r->handle.memory))) {
		ids_take(&btl_pm.regions, r->handle.region);
		free(r);
		r = NULL;
	}
	is_first = r && !mtl_pm.serves_client;
	mtl_pm.serves_client = btl_pm.regions.used > 0;
	mtl_pm_leave();
	if (is_first && mtl_pm.moves_long)
		mtl_pm_thread_unpark();
	return r ? &r->handle : NULL;
}

int btl_pm_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
	struct btl_pm_region *r = (struct btl_pm_region *)handle;

	mtl_pm_enter();
	ids_take(&btl_pm.regions, handle->region);
	mtl_pm.serves_client = btl_pm.regions.used > 0;
	if (r->length)
		pmMUnlock(mtl_pm.ctx, &handle->memory);
	mtl_pm_leave();
	free(r);
	return OPAL_SUCCESS;
}

void *btl_pm_find(uint64_t region, uint64_t address, uint64_t length, uint32_t access)
{
	const struct btl_pm_region *r = ids_get(&btl_pm.regions, region);
	uint64_t offset = r ? address - r->handle.base : 0;

	if (!r || !(r->access & access) || offset > r->length || length > r->length - offset)
		return NULL;
	return (void *)(uintptr_t)address;
}

/* ---- answers ---- */

/* It goes now, or later if PM has no buffer; the caller keeps nothing. */
static void answer(struct mca_btl_base_endpoint_t *e, const void *head, size_t head_size,
		   const void *data, size_t length)
{
	struct btl_pm_answer *a;
	void *buf;
	pmDesc desc;
	int rc = STAILQ_EMPTY(&e->answers)
			 ? pmGetSendBuffer(mtl_pm.ctx, e->node, head_size + length, &buf, &desc)
			 : ENOBUFS;

	if (!rc) {
		memcpy(buf, head, head_size);
		if (length)
			memcpy((char *)buf + head_size, data, length);
		(void)pmSend(mtl_pm.ctx, desc);
		return;
	}
	if (rc != ENOBUFS)
		return;
	/* an honest peer has not asked for so much */
	if (e->n_answers >= ACTIVE_ASKED_MAX) {
		btl_pm.damaged++;
		return;
	}
	a = malloc(sizeof(*a) + head_size + length);
	if (!a)
		btl_pm_no_memory();
	a->length = head_size + length;
	memcpy(a->bytes, head, head_size);
	if (length)
		memcpy(a->bytes + head_size, data, length);
	STAILQ_INSERT_TAIL(&e->answers, a, link);
	e->n_answers++;
	btl_pm_endpoint_busy(e);
}

static void result(struct mca_btl_base_endpoint_t *e, uint64_t id, int error, const void *data,
		   size_t length)
{
	struct active_result m = {.head = {.kind = ACTIVE_RESULT, .length = (uint32_t)error},
				  .id = id};

	answer(e, &m, sizeof(m), data, error ? 0 : length);
}

static void tell_done(struct mca_btl_base_endpoint_t *e)
{
	struct active_head head = {.kind = ACTIVE_DONE, .length = e->n_done};

	if (e->n_done)
		answer(e, &head, sizeof(head), e->done, e->n_done * sizeof(*e->done));
	e->n_done = 0;
}

bool btl_pm_push_answers(struct mca_btl_base_endpoint_t *e)
{
	struct btl_pm_answer *a;

	while ((a = STAILQ_FIRST(&e->answers))) {
		if (pmPost(mtl_pm.ctx, e->node, a->bytes, a->length) == ENOBUFS)
			return false;
		STAILQ_REMOVE_HEAD(&e->answers, link);
		e->n_answers--;
		free(a);
	}
	tell_done(e);
	return STAILQ_EMPTY(&e->answers);
}

void btl_pm_drop_answers(struct mca_btl_base_endpoint_t *e)
{
	while (!STAILQ_EMPTY(&e->answers)) {
		struct btl_pm_answer *a = STAILQ_FIRST(&e->answers);

		STAILQ_REMOVE_HEAD(&e->answers, link);
		e->n_answers--;
		free(a);
	}
}

/* ---- requests ---- */

void btl_pm_answer_put(struct mca_btl_base_endpoint_t *from, uint64_t id, int error)
{
	if (error) {
		result(from, id, error, NULL, 0);
		return;
	}
	from->done[from->n_done++] = id;
	if (from->n_done == ACTIVE_DONE_MAX)
		tell_done(from);
	else
		btl_pm_endpoint_busy(from);
}

void btl_pm_on_put(const struct active_request *m, const void *data, size_t length,
		   struct mca_btl_base_endpoint_t *from)
{
	void *to = btl_pm_find(m->region, m->address, length, MCA_BTL_REG_FLAG_REMOTE_WRITE);

	if (to)
		memcpy(to, data, length);
	btl_pm_answer_put(from, m->id, to ? 0 : EACCES);
}

/* A piece that is refused leaves the others, and the answer is that of all. */
void btl_pm_on_puts(const struct active_puts *m, const void *pieces,
		    struct mca_btl_base_endpoint_t *from)
{
	const char *at = pieces;
	bool is_good = true;

	for (uint32_t i = 0; i < m->head.length; i++) {
		const struct active_piece *piece = (const struct active_piece *)at;
		void *to = btl_pm_find(piece->region, piece->address, piece->length,
				       MCA_BTL_REG_FLAG_REMOTE_WRITE);

		if (to)
			memcpy(to, piece + 1, piece->length);
		else
			is_good = false;
		at += active_piece_size(piece->length);
	}
	btl_pm_answer_put(from, m->id, is_good ? 0 : EACCES);
}

void btl_pm_on_get(const struct active_request *m, struct mca_btl_base_endpoint_t *from)
{
	size_t length = m->head.length;
	void *data = btl_pm_find(m->region, m->address, length, MCA_BTL_REG_FLAG_REMOTE_READ);
	bool is_good = data && length + sizeof(struct active_result) <= from->mtu;

	result(from, m->id, is_good ? 0 : EACCES, data, length);
}
