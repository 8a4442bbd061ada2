// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_pack - between user memory and datagrams, straight from and to PM's buffers. Memory in one
 * piece is copied. For any other the description of the datatype becomes a layout
 * (mpi-glue/common/layout.h). Types that none stands for, such as nested loops and long lists of
 * blocks, go through Open MPI's convertor.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include "opal/datatype/opal_convertor_internal.h"
#include "opal/datatype/opal_datatype_internal.h"
#include "pmcore/util/copy.h"

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

/* False: the element is no such run. */
static bool add_run(const union dt_elem_desc *d, struct layout *layout)
{
	const ddt_elem_desc_t *e = &d->elem;
	struct layout_run *run = &layout->run[layout->n_runs];

	if (!(e->common.flags & OPAL_DATATYPE_FLAG_DATA) || layout->n_runs == LAYOUT_RUNS)
		return false;
	*run = (struct layout_run){.at = e->disp,
				   .block = e->blocklen *
					    opal_datatype_basicDatatypes[e->common.type]->size,
				   .n = e->count,
				   .stride = e->extent};
	if (run->block && run->n)
		layout->n_runs++;
	return true;
}

/* Is all of the description one loop, with its end? */
static bool is_loop(const dt_type_desc_t *d)
{
	return d->used > 2 && d->desc->loop.common.type == OPAL_DATATYPE_LOOP &&
	       d->desc->loop.items == d->used - 1;
}

static size_t bytes_of(const struct layout *layout)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < layout->n_runs; i++)
		bytes += layout->run[i].n * layout->run[i].block;
	return bytes * layout->elements * layout->rows;
}

bool mtl_pm_begin_layout(const struct opal_convertor_t *c, struct layout_walk *ret_walk)
{
	const dt_type_desc_t *d = c->use_desc;
	struct layout layout = {
		.elements = 1, .rows = c->count, .row_stride = c->pDesc->ub - c->pDesc->lb};
	size_t first = 0, end = d->used;

	if (!mtl_pm_is_plain(c->flags))
		return false;
	if (is_loop(d)) {
		layout.elements = d->desc->loop.loops;
		layout.element_stride = d->desc->loop.extent;
		first = 1;
		end = d->used - 1;
	}
	for (size_t i = first; i < end; i++)
		if (!add_run(&d->desc[i], &layout))
			return false;
	/* a count of more than 32 bits does not fit Open MPI's description */
	if (bytes_of(&layout) != c->local_size)
		return false;
	layout_begin(ret_walk, &layout, c->pBaseBuf);
	return true;
}

/*
 * The next bytes of the message, as many as fit; fewer when the convertor would have to cut an
 * element.
 */
size_t mtl_pm_pack(struct mtl_pm_send *s, void *to, size_t room)
{
	struct iovec iov = {.iov_base = to, .iov_len = room};
	uint32_t count = 1;
	size_t packed = room;

	if (s->has_layout)
		return layout_gather(&s->walk, to, room);
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
		copy_bytes(r->data + r->got, from, length);
	else if (r->has_layout)
		layout_scatter(&r->walk, from, length);
	else
		opal_convertor_unpack(r->target, &iov, &count, &unpacked);
	r->got += length;
}
