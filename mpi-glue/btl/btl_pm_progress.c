// SPDX-License-Identifier: BSD-3-Clause
/* btl_pm_progress - what arrives, what is tried again, and the callbacks of what has ended. */
#include "mpi-glue/btl/btl_pm.h"
#include "pmcore/util/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Datagrams of one round. */
#define ROUND 16
#define IDLE_LOOKS 1024u

_Static_assert(ACTIVE_TAG_MAX < MCA_BTL_TAG_MAX, "tags are places in Open MPI's table");

/* ---- what arrives ---- */

/* Lock not held: the callee may send. */
static void deliver(mca_btl_base_tag_t tag, const void *data, size_t length)
{
	mca_btl_base_segment_t segment = {.seg_addr.pval = (void *)data, .seg_len = length};
	mca_btl_base_descriptor_t descriptor = {.des_segments = &segment, .des_segment_count = 1};
	const mca_btl_active_message_callback_t *callback =
		&mca_btl_base_active_message_trigger[tag];

	if (callback->cbfunc)
		callback->cbfunc(&btl_pm.super, tag, &descriptor, callback->cbdata);
}

/* The next part; the whole message when it was the last one, else NULL. */
static char *add_part(struct mca_btl_base_endpoint_t *from, const struct active_head *m,
		      const void *data, size_t length)
{
	char *whole = NULL;

	if (m->kind == ACTIVE_FIRST) {
		free(from->parts);
		from->parts = malloc(m->length);
		if (!from->parts)
			btl_pm_no_memory();
		from->parts_length = m->length;
		from->parts_got = 0;
		from->parts_tag = m->tag;
	}
	if (!from->parts || length > from->parts_length - from->parts_got) {
		btl_pm.damaged++;
		return NULL;
	}
	memcpy(from->parts + from->parts_got, data, length);
	from->parts_got += length;
	if (from->parts_got == from->parts_length) {
		whole = from->parts;
		from->parts = NULL;
	}
	return whole;
}

static void take_part(struct mca_btl_base_endpoint_t *from, const struct active_head *m,
		      const void *data, size_t length)
{
	char *whole = add_part(from, m, data, length);
	mca_btl_base_tag_t tag = from->parts_tag;
	size_t size = from->parts_length;

	if (!whole)
		return;
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	deliver(tag, whole, size);
	OPAL_THREAD_LOCK(&btl_pm.lock);
	free(whole);
}

/* Called with the lock held; gives it up while Open MPI takes a message. */
static void arrive(struct mca_btl_base_endpoint_t *from, const void *datagram, size_t len)
{
	const struct active_head *m = datagram;
	int head = active_parse(datagram, len);
	const char *data = (const char *)datagram + head;
	size_t length = len - (size_t)head;

	if (head < 0) {
		btl_pm.damaged++;
		return;
	}
	switch (m->kind) {
	case ACTIVE_MESSAGE:
		OPAL_THREAD_UNLOCK(&btl_pm.lock);
		deliver(m->tag, data, length);
		OPAL_THREAD_LOCK(&btl_pm.lock);
		break;
	case ACTIVE_FIRST:
	case ACTIVE_MORE:
		take_part(from, m, data, length);
		break;
	case ACTIVE_PUT:
		btl_pm_on_put(datagram, data, length, from);
		break;
	case ACTIVE_GET:
		btl_pm_on_get(datagram, from);
		break;
	case ACTIVE_ATOMIC:
		btl_pm_on_atomic(datagram, from);
		break;
	case ACTIVE_RESULT:
		btl_pm_on_result(datagram, data, length, from);
		break;
	case ACTIVE_DONE:
		btl_pm_on_done((const uint64_t *)data, m->length, from);
		break;
	}
}

/* One datagram; false: there was none. */
static bool receive(void)
{
	void *buf;
	size_t len;
	pmNode node;
	pmDesc desc;
	int rc = pmReceive(btl_pm.ctx, &buf, &len, &node, &desc);
	struct mca_btl_base_endpoint_t *from;

	if (rc == EPIPE)
		btl_pm_on_death(node);
	if (rc)
		return false;
	from = btl_pm_endpoint(node);
	if (!from)
		btl_pm_no_memory();
	arrive(from, buf, len);
	pmReleaseReceiveBuffer(btl_pm.ctx, desc);
	return true;
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

/* ---- what has ended ---- */

static struct btl_pm_descriptor *next_over(void)
{
	struct btl_pm_descriptor *d;

	OPAL_THREAD_LOCK(&btl_pm.lock);
	d = STAILQ_FIRST(&btl_pm.over);
	if (d)
		STAILQ_REMOVE_HEAD(&btl_pm.over, link);
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	return d;
}

static struct btl_pm_operation *next_ended(void)
{
	struct btl_pm_operation *o;

	OPAL_THREAD_LOCK(&btl_pm.lock);
	o = STAILQ_FIRST(&btl_pm.ended);
	if (o)
		STAILQ_REMOVE_HEAD(&btl_pm.ended, link);
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	return o;
}

static void give_back(struct btl_pm_operation *o)
{
	OPAL_THREAD_LOCK(&btl_pm.lock);
	STAILQ_INSERT_HEAD(&btl_pm.free_operations, o, link);
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
}

/* For all that has ended; lock not held. How much that was. */
static int call_back(void)
{
	struct btl_pm_descriptor *d;
	struct btl_pm_operation *o;
	int n = 0;

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
		struct btl_pm_operation done = *o;

		give_back(o);
		if (done.call)
			done.call(&btl_pm.super, done.endpoint, done.local, done.local_handle,
				  done.context, done.data, done.status);
		n++;
	}
	return n;
}

/* A look at the clock in so many polls without news. */
static void look_around(int n)
{
	btl_pm.idle = n ? 0 : btl_pm.idle + 1;
	if (btl_pm.idle % IDLE_LOOKS == IDLE_LOOKS - 1)
		btl_pm_watch(clock_monotonic_ns());
}

int btl_pm_progress(void)
{
	int n = 0;

	OPAL_THREAD_LOCK(&btl_pm.lock);
	while (n < ROUND && receive())
		n++;
	if (!TAILQ_EMPTY(&btl_pm.running))
		n += btl_pm_poll_running();
	if (!TAILQ_EMPTY(&btl_pm.busy))
		push();
	btl_pm_cork(false);
	look_around(n);
	OPAL_THREAD_UNLOCK(&btl_pm.lock);
	return n + call_back();
}
