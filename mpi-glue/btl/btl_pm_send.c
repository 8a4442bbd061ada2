// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_send - descriptors, and active messages on their way out. */
#include "mpi-glue/btl/btl_pm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- descriptors ---- */

static struct btl_pm_descriptors *free_ones(size_t room)
{
	return room <= BTL_PM_SMALL ? &btl_pm.free_small : &btl_pm.free_large;
}

static struct btl_pm_descriptor *take(size_t size)
{
	size_t room = size <= BTL_PM_SMALL ? BTL_PM_SMALL : BTL_PM_SEND_MAX;
	struct btl_pm_descriptors *list = free_ones(room);
	struct btl_pm_descriptor *d;

	if (size > BTL_PM_SEND_MAX)
		return NULL;
	mtl_pm_enter();
	d = STAILQ_FIRST(list);
	if (d)
		STAILQ_REMOVE_HEAD(list, link);
	mtl_pm_leave();
	if (d)
		return d;
	d = malloc(sizeof(*d) + room);
	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	OBJ_CONSTRUCT(&d->base, mca_btl_base_descriptor_t);
	d->room = room;
	return d;
}

mca_btl_base_descriptor_t *btl_pm_alloc(mca_btl_base_module_t *btl,
					struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
					size_t size, uint32_t flags)
{
	struct btl_pm_descriptor *d = take(size);

	if (!d)
		return NULL;
	d->segment.seg_addr.pval = d->bytes;
	d->segment.seg_len = size;
	d->base.des_segments = &d->segment;
	d->base.des_segment_count = 1;
	d->base.des_flags = flags;
	d->base.order = MCA_BTL_NO_ORDER;
	return &d->base;
}

int btl_pm_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
	struct btl_pm_descriptor *d = (struct btl_pm_descriptor *)descriptor;

	mtl_pm_enter();
	STAILQ_INSERT_HEAD(free_ones(d->room), d, link);
	mtl_pm_leave();
	return OPAL_SUCCESS;
}

mca_btl_base_descriptor_t *btl_pm_prepare_src(mca_btl_base_module_t *btl,
					      struct mca_btl_base_endpoint_t *endpoint,
					      opal_convertor_t *convertor, uint8_t order,
					      size_t reserve, size_t *size, uint32_t flags)
{
	size_t room = BTL_PM_SEND_MAX - reserve, want = *size < room ? *size : room;
	struct btl_pm_descriptor *d = (struct btl_pm_descriptor *)btl_pm_alloc(
		btl, endpoint, order, reserve + want, flags);
	struct iovec iov;
	uint32_t n = 1;

	if (!d)
		return NULL;
	iov = (struct iovec){d->bytes + reserve, want};
	if (opal_convertor_pack(convertor, &iov, &n, &want) < 0) {
		btl_pm_free(btl, &d->base);
		return NULL;
	}
	d->segment.seg_len = reserve + want;
	*size = want;
	return &d->base;
}

static void free_all(struct btl_pm_descriptors *list)
{
	while (!STAILQ_EMPTY(list)) {
		struct btl_pm_descriptor *d = STAILQ_FIRST(list);

		STAILQ_REMOVE_HEAD(list, link);
		OBJ_DESTRUCT(&d->base);
		free(d);
	}
}

void btl_pm_descriptors_free(void)
{
	free_all(&btl_pm.over);
	free_all(&btl_pm.free_small);
	free_all(&btl_pm.free_large);
}

/* ---- to PM ---- */

static int post_whole(struct mca_btl_base_endpoint_t *e, struct btl_pm_descriptor *d)
{
	const struct active_head head = {.kind = ACTIVE_MESSAGE, .tag = d->tag};
	const pmRowHead heads = {&head, sizeof(head), d->segment.seg_len};
	size_t done;

	return pmPostHeadedRow(mtl_pm.ctx, e->node, &heads, &heads, d->segment.seg_addr.pval,
			       d->segment.seg_len, &done);
}

static int post_parts(struct mca_btl_base_endpoint_t *e, struct btl_pm_descriptor *d)
{
	const struct active_head first = {.kind = ACTIVE_FIRST,
					  .tag = d->tag,
					  .length = (uint32_t)d->segment.seg_len},
				 more = {.kind = ACTIVE_MORE};
	const size_t part = e->mtu - sizeof(first);
	const pmRowHead heads[] = {{&first, sizeof(first), part}, {&more, sizeof(more), part}};
	const char *bytes = d->segment.seg_addr.pval;
	size_t done = 0;
	int rc;

	if (!d->sent)
		rc = pmPostHeadedRow(mtl_pm.ctx, e->node, &heads[0], &heads[1], bytes,
				     d->segment.seg_len, &done);
	else
		rc = pmPostRow(mtl_pm.ctx, e->node, &more, sizeof(more), bytes + d->sent,
			       d->segment.seg_len - d->sent, part, &done);
	d->sent += done;
	return rc;
}

/* PM_SUCCESS: all of it was handed over. ENOBUFS: not yet. */
static int post(struct mca_btl_base_endpoint_t *e, struct btl_pm_descriptor *d)
{
	if (e->is_dead)
		return EPIPE;
	if (!d->sent && d->segment.seg_len + sizeof(struct active_head) <= e->mtu)
		return post_whole(e, d);
	return post_parts(e, d);
}

static void ended(struct btl_pm_descriptor *d, bool has_failed)
{
	mtl_pm.is_client_due = true;
	d->has_failed = has_failed;
	STAILQ_INSERT_TAIL(&btl_pm.over, d, link);
}

bool btl_pm_push_sends(struct mca_btl_base_endpoint_t *e)
{
	struct btl_pm_descriptor *d;

	while ((d = STAILQ_FIRST(&e->sends))) {
		int rc = post(e, d);

		if (rc == ENOBUFS)
			return false;
		STAILQ_REMOVE_HEAD(&e->sends, link);
		ended(d, rc != 0);
	}
	return true;
}

void btl_pm_drop_sends(struct mca_btl_base_endpoint_t *e)
{
	while (!STAILQ_EMPTY(&e->sends)) {
		struct btl_pm_descriptor *d = STAILQ_FIRST(&e->sends);

		STAILQ_REMOVE_HEAD(&e->sends, link);
		ended(d, true);
	}
}

int btl_pm_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *e,
		mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
	struct btl_pm_descriptor *d = (struct btl_pm_descriptor *)descriptor;
	bool is_owned = descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
	int rc = ENOBUFS;

	d->endpoint = e;
	d->tag = tag;
	d->sent = 0;
	mtl_pm_enter();
	mtl_pm_let_go();
	if (STAILQ_EMPTY(&e->sends))
		rc = post(e, d);
	if (rc == ENOBUFS) {
		STAILQ_INSERT_TAIL(&e->sends, d, link);
		btl_pm_endpoint_busy(e);
	}
	mtl_pm_leave();
	if (rc == ENOBUFS)
		return OPAL_SUCCESS;
	if (rc)
		return OPAL_ERR_UNREACH;
	if (descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK && descriptor->des_cbfunc)
		descriptor->des_cbfunc(btl, e, descriptor, OPAL_SUCCESS);
	if (is_owned)
		btl_pm_free(btl, descriptor);
	return 1;
}

/* The header and the packed data in one datagram: PM's error. */
static int send_now(struct mca_btl_base_endpoint_t *e, opal_convertor_t *convertor,
		    const void *header, size_t header_size, size_t payload_size,
		    mca_btl_base_tag_t tag)
{
	struct active_head *head;
	void *buf;
	pmDesc desc;
	struct iovec iov;
	uint32_t n = 1;
	int rc = e->is_dead
			 ? EPIPE
			 : pmGetSendBuffer(mtl_pm.ctx, e->node,
					   sizeof(*head) + header_size + payload_size, &buf, &desc);

	if (rc)
		return rc;
	head = buf;
	*head = (struct active_head){.kind = ACTIVE_MESSAGE, .tag = tag};
	memcpy(head + 1, header, header_size);
	iov = (struct iovec){(char *)(head + 1) + header_size, payload_size};
	if (payload_size && opal_convertor_pack(convertor, &iov, &n, &payload_size) < 0) {
		pmDiscardSendBuffer(mtl_pm.ctx, desc);
		return EINVAL;
	}
	return pmSend(mtl_pm.ctx, desc);
}

int btl_pm_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *e,
		 opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
		 uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
		 mca_btl_base_descriptor_t **ret_descriptor)
{
	size_t length = header_size + payload_size;
	int rc = ENOBUFS;

	if (length + sizeof(struct active_head) <= e->mtu) {
		mtl_pm_enter();
		mtl_pm_let_go();
		if (STAILQ_EMPTY(&e->sends))
			rc = send_now(e, convertor, header, header_size, payload_size, tag);
		mtl_pm_leave();
	}
	if (!rc)
		return OPAL_SUCCESS;
	if (ret_descriptor)
		*ret_descriptor = btl_pm_alloc(btl, e, order, length, flags);
	return OPAL_ERR_RESOURCE_BUSY;
}
