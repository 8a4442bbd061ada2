// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_progress - what arrives, what is tried again, and the callbacks of what has ended. */
#include "mpi-glue/btl/btl_pm.h"
#include "pmcore/util/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_LOOKS 1024u

_Static_assert(ACTIVE_TAG_MAX < MCA_BTL_TAG_MAX, "tags are places in Open MPI's table");

/* ---- what arrives ---- */

static struct btl_pm_arrival *arrival(struct mca_btl_base_endpoint_t *from, mca_btl_base_tag_t tag,
				      size_t length)
{
	struct btl_pm_arrival *a = malloc(sizeof(*a) + length);

	if (!a)
		btl_pm_no_memory();
	a->from = from;
	a->tag = tag;
	a->length = length;
	return a;
}

/* Open MPI is told of it by btl_pm_progress. */
static void arrived(struct btl_pm_arrival *a)
{
	STAILQ_INSERT_TAIL(&btl_pm.arrivals, a, link);
	mtl_pm.is_client_due = true;
}

static void take_message(struct mca_btl_base_endpoint_t *from, const struct active_head *m,
			 const void *data, size_t length)
{
	struct btl_pm_arrival *a = arrival(from, m->tag, length);

	memcpy(a->bytes, data, length);
	arrived(a);
}

static void take_part(struct mca_btl_base_endpoint_t *from, const struct active_head *m,
		      const void *data, size_t length)
{
	if (m->kind == ACTIVE_FIRST) {
		free(from->parts);
		from->parts = arrival(from, m->tag, m->length);
		from->parts_got = 0;
	}
	if (!from->parts || length > from->parts->length - from->parts_got) {
		btl_pm.damaged++;
		return;
	}
	memcpy(from->parts->bytes + from->parts_got, data, length);
	from->parts_got += length;
	if (from->parts_got < from->parts->length)
		return;
	arrived(from->parts);
	from->parts = NULL;
}

void btl_pm_arrive(struct mtl_pm_peer *peer, const void *datagram, size_t len)
{
	struct mca_btl_base_endpoint_t *from = btl_pm_endpoint(peer);
	const struct active_head *m = datagram;
	int head = active_parse(datagram, len);
	const char *data = (const char *)datagram + head;
	size_t length = len - (size_t)head;

	if (head < 0) {
		btl_pm.damaged++;
		return;
	}
	if (!from)
		btl_pm_no_memory();
	switch (m->kind) {
	case ACTIVE_MESSAGE:
		take_message(from, m, data, length);
		break;
	case ACTIVE_FIRST:
	case ACTIVE_MORE:
		take_part(from, m, data, length);
		break;
	case ACTIVE_PUT:
		btl_pm_on_put(datagram, data, length, from);
		break;
	case ACTIVE_PUTS:
		btl_pm_on_puts(datagram, data, from);
		break;
	case ACTIVE_PULL:
		btl_pm_on_pull(datagram, from);
		break;
	case ACTIVE_GET:
		btl_pm_on_get(datagram, from);
		break;
	case ACTIVE_RESULT:
		btl_pm_on_result(datagram, data, length, from);
		break;
	case ACTIVE_DONE:
		btl_pm_on_done((const uint64_t *)data, m->length, from);
		break;
	}
}

/* ---- what is tried again ---- */

static void push(void)
{
	struct mca_btl_base_endpoint_t *e, *next;

	for (e = TAILQ_FIRST(&btl_pm.busy); e; e = next) {
		bool is_idle = btl_pm_push_answers(e);

		next = TAILQ_NEXT(e, busy);
		is_idle = btl_pm_push_operations(e) && is_idle;
		is_idle = btl_pm_push_sends(e) && is_idle;
		if (!is_idle)
			continue;
		TAILQ_REMOVE(&btl_pm.busy, e, busy);
		e->is_busy = false;
	}
}

int btl_pm_poll(void)
{
	int n = btl_pm_poll_running() + btl_pm_poll_pulls();

	push();
	mtl_pm.has_client_work = !TAILQ_EMPTY(&btl_pm.busy) || !TAILQ_EMPTY(&btl_pm.running) ||
				 !TAILQ_EMPTY(&btl_pm.pulls);
	return n;
}

bool btl_pm_is_idle(void)
{
	return !btl_pm.operations.used && TAILQ_EMPTY(&btl_pm.busy) &&
	       TAILQ_EMPTY(&btl_pm.running) && TAILQ_EMPTY(&btl_pm.pulls);
}

/* ---- what has ended ---- */

static struct btl_pm_descriptor *next_over(void)
{
	struct btl_pm_descriptor *d;

	mtl_pm_enter();
	d = STAILQ_FIRST(&btl_pm.over);
	if (d)
		STAILQ_REMOVE_HEAD(&btl_pm.over, link);
	mtl_pm_leave();
	return d;
}

static struct btl_pm_operation *next_ended(void)
{
	struct btl_pm_operation *o;

	mtl_pm_enter();
	o = STAILQ_FIRST(&btl_pm.ended);
	if (o)
		STAILQ_REMOVE_HEAD(&btl_pm.ended, link);
	mtl_pm_leave();
	return o;
}

static void give_back(struct btl_pm_operation *o)
{
	mtl_pm_enter();
	STAILQ_INSERT_HEAD(&btl_pm.free_operations, o, link);
	mtl_pm_leave();
}

static struct btl_pm_arrival *next_arrival(void)
{
	struct btl_pm_arrival *a;

	mtl_pm_enter();
	a = STAILQ_FIRST(&btl_pm.arrivals);
	if (a)
		STAILQ_REMOVE_HEAD(&btl_pm.arrivals, link);
	mtl_pm_leave();
	return a;
}

static void deliver(struct btl_pm_arrival *a)
{
	mca_btl_base_segment_t segment = {.seg_addr.pval = a->bytes, .seg_len = a->length};

	btl_pm_hand_over(&btl_pm.super, a->from, a->tag, &segment);
	free(a);
}

/* The callback may start another operation, for which this one's memory is there. */
static void tell(struct btl_pm_operation *o)
{
	mca_btl_base_rdma_completion_fn_t call = o->call;
	struct mca_btl_base_endpoint_t *endpoint = o->endpoint;
	mca_btl_base_registration_handle_t *handle = o->local_handle;
	void *local = o->local, *context = o->context, *data = o->data;
	int status = o->status;

	if (status == OPAL_ERR_BAD_PARAM || status == OPAL_ERROR)
		btl_pm_say_failed(o);
	give_back(o);
	if (call)
		call(&btl_pm.super, endpoint, local, handle, context, data, status);
}

/* For all that has arrived and all that has ended; lock not held. How much that was. */
static int call_back(void)
{
	struct btl_pm_arrival *a;
	struct btl_pm_descriptor *d;
	struct btl_pm_operation *o;
	int n = 0;

	for (; !STAILQ_EMPTY(&btl_pm.arrivals) && (a = next_arrival()); n++)
		deliver(a);
	while (!STAILQ_EMPTY(&btl_pm.over) && (d = next_over())) {
		bool is_owned = d->base.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;

		if (d->base.des_cbfunc)
			d->base.des_cbfunc(&btl_pm.super, d->endpoint, &d->base,
					   d->has_failed ? OPAL_ERR_UNREACH : OPAL_SUCCESS);
		if (is_owned)
			btl_pm_free(&btl_pm.super, &d->base);
		n++;
	}
	while (!STAILQ_EMPTY(&btl_pm.ended) && (o = next_ended())) {
		tell(o);
		n++;
	}
	return n;
}

/* A look at the clock in so many polls without news. */
static void look_around(int n)
{
	btl_pm.idle = n ? 0 : btl_pm.idle + 1;
	if (btl_pm.idle % IDLE_LOOKS != IDLE_LOOKS - 1)
		return;
	mtl_pm_enter();
	btl_pm_watch(clock_monotonic_ns());
	mtl_pm_leave();
}

void btl_pm_arrivals_free(void)
{
	while (!STAILQ_EMPTY(&btl_pm.arrivals)) {
		struct btl_pm_arrival *a = STAILQ_FIRST(&btl_pm.arrivals);

		STAILQ_REMOVE_HEAD(&btl_pm.arrivals, link);
		free(a);
	}
}

int btl_pm_progress(void)
{
	int n = 0;

	if (btl_pm.is_closing)
		return 0;
	if (mtl_pm.is_client_due) {
		mtl_pm_enter();
		mtl_pm.is_client_due = false;
		mtl_pm_leave();
	}
	/* first: of operations that failed Open MPI would say less */
	if (OPAL_UNLIKELY(btl_pm.died != NULL))
		btl_pm_tell_death();
	n += call_back();
	look_around(n);
	return n;
}
