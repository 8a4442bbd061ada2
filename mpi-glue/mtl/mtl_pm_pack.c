/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_pack - between user memory and datagrams: memory in one piece is copied, any other layout
 * goes through Open MPI's convertor, straight from and to PM's buffers.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include "opal/datatype/opal_convertor_internal.h"
#include "opal/datatype/opal_datatype_internal.h"

#include <string.h>

const char *mtl_pm_data_of(const struct opal_convertor_t *c)
{
	/* Any address serves for no bytes; NULL would mean "must be packed". */
	if (!c->local_size)
		return "";
	if (!opal_datatype_is_contiguous_memory_layout(c->pDesc, (int32_t)c->count))
		return NULL;
	if (mtl_pm_is_shifted(c->flags))
		return (const char *)c->pBaseBuf;
	return (const char *)c->pBaseBuf + c->pDesc->true_lb;
}

char *mtl_pm_room_of(const struct opal_convertor_t *c)
{
	static char nothing;

	if (!c->local_size)
		return &nothing;
	if (opal_convertor_need_buffers(c))
		return NULL;
	return (char *)c->pBaseBuf + c->pDesc->true_lb;
}

/* The next bytes of the message, as many as fit; fewer when an element would be cut. */
size_t mtl_pm_pack(struct mtl_pm_send *s, void *to, size_t room)
{
	struct iovec iov = {.iov_base = to, .iov_len = room};
	uint32_t count = 1;
	size_t packed = room;

	opal_convertor_pack(s->source, &iov, &count, &packed);
	return packed;
}

void mtl_pm_unpack(struct mtl_pm_receive *r, const void *from, size_t length)
{
	struct iovec iov = {.iov_base = (void *)from, .iov_len = length};
	uint32_t count = 1;
	size_t unpacked = length;

	if (!length)
		return;
	if (r->data)
		memcpy(r->data + r->got, from, length);
	else
		opal_convertor_unpack(r->target, &iov, &count, &unpacked);
	r->got += length;
}
