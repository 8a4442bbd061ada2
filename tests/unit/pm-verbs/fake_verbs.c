// SPDX-License-Identifier: BSD-3-Clause
/*
 * fake_verbs - the objects and their calls: devices, memory, completion queues, channels, the
 * states of queue pairs. Work requests are handled in fake_work.c, shared receives and events in
 * fake_shared.c.
 */
#include "tests/unit/pm-verbs/fake_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/pm-verbs/fake_private.h"

struct fake fake;
struct fake_world fake_world;

static struct {
	enum fake_call call;
	int in, error;
} failing;

static struct ibv_device devices[FAKE_DEVICES];

bool fake_fails(enum fake_call call)
{
	fake.calls[call]++;
	if (failing.call != call || !failing.in || --failing.in)
		return false;
	errno = failing.error;
	return true;
}

void fake_fail(enum fake_call call, int nth, int error)
{
	failing.call = call;
	failing.in = nth;
	failing.error = error;
}

const char *fake_call_name(enum fake_call call)
{
	static const char *const names[FAKE_CALLS] = {
		"get_device_list", "open_device", "query_device",        "query_port",
		"alloc_pd",        "reg_mr",      "create_comp_channel", "create_cq",
		"resize_cq",       "create_qp",   "modify_qp",           "create_ah",
		"post_send",       "post_recv",   "req_notify_cq",       "create_srq",
		"post_srq_recv"};

	return names[call];
}

void *fake_make(size_t size)
{
	fake.live++;
	return calloc(1, size);
}

int fake_unmake(void *object)
{
	fake.live--;
	free(object);
	return 0;
}

/* ---- devices ---- */

static struct ibv_device **get_device_list(int *ret_n)
{
	struct ibv_device **list;

	if (fake_fails(FAKE_GET_DEVICE_LIST))
		return NULL;
	list = fake_make(sizeof(*list) * (FAKE_DEVICES + 1));
	for (int i = 0; i < fake.n_devices; i++)
		list[i] = &devices[i];
	*ret_n = fake.n_devices;
	return list;
}

static void free_device_list(struct ibv_device **list)
{
	fake_unmake(list);
}

static struct ibv_context *open_device(struct ibv_device *device)
{
	struct ibv_context *context;

	if (fake_fails(FAKE_OPEN_DEVICE))
		return NULL;
	context = fake_make(sizeof(struct fake_context));
	context->device = device;
	context->async_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
	context->ops.post_send = fake_post_send;
	context->ops.post_recv = fake_post_recv;
	context->ops.post_srq_recv = fake_post_srq_recv;
	context->ops.poll_cq = fake_poll_cq;
	context->ops.req_notify_cq = fake_req_notify_cq;
	return context;
}

static int close_device(struct ibv_context *context)
{
	fake_event_forget(context, NULL);
	close(context->async_fd);
	return fake_unmake(context);
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (fake_fails(FAKE_QUERY_DEVICE))
		return errno;
	memset(attr, 0, sizeof(*attr));
	attr->phys_port_cnt = 1;
	attr->max_qp = 1024;
	attr->max_qp_wr = 1024;
	attr->max_cqe = 32768;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	attr->max_srq = fake.max_srq;
	attr->max_srq_wr = 1024;
	return 0;
}

struct fake_port *fake_port_of(struct ibv_context *context)
{
	return &fake.ports[context->device - devices];
}

static int query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	if (fake_fails(FAKE_QUERY_PORT))
		return errno;
	if (port != 1)
		return EINVAL;
	memcpy(attr, &fake_port_of(context)->attr, sizeof(struct ibv_port_attr));
	return 0;
}

static int query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
			struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const struct fake_port *p = fake_port_of(context);

	if (index >= (uint32_t)p->n_gids || port != 1)
		return ENODATA;
	memcpy(entry, &p->gids[index], entry_size);
	return 0;
}

/* ---- memory ---- */

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	if (fake_fails(FAKE_ALLOC_PD))
		return NULL;
	pd = fake_make(sizeof(*pd));
	pd->context = context;
	return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	return fake_unmake(pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct fake_mr *mr;

	if (fake_fails(FAKE_REG_MR))
		return NULL;
	if (fake.lockable && fake.locked + len > fake.lockable) {
		errno = ENOMEM;
		return NULL;
	}
	fake.locked += len;
	mr = fake_make(sizeof(*mr));
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.addr = addr;
	mr->base.length = len;
	mr->base.lkey = mr->base.rkey = ++fake_world.next_key * 256 + 7;
	mr->access = access;
	mr->next = fake_world.mrs;
	fake_world.mrs = mr;
	return &mr->base;
}

static int dereg_mr(struct ibv_mr *mr)
{
	struct fake_mr **at = &fake_world.mrs;

	if (fake_fails(FAKE_DEREG_MR))
		return errno;
	while (&(*at)->base != mr)
		at = &(*at)->next;
	*at = (*at)->next;
	fake.locked -= mr->length;
	return fake_unmake(mr);
}

void fake_forget(void)
{
	while (fake_world.mrs)
		dereg_mr(&fake_world.mrs->base);
}

void fake_replaced(const void *addr, size_t len)
{
	uintptr_t start = (uintptr_t)addr;

	for (struct fake_mr *mr = fake_world.mrs; mr; mr = mr->next) {
		uintptr_t at = (uintptr_t)mr->base.addr;

		mr->is_stale |= at < start + len && start < at + mr->base.length;
	}
}

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fake_ah *ah;

	if (fake_fails(FAKE_CREATE_AH))
		return NULL;
	ah = fake_make(sizeof(*ah));
	ah->base.context = pd->context;
	ah->base.pd = pd;
	ah->dgid = attr->grh.dgid;
	return &ah->base;
}

static int destroy_ah(struct ibv_ah *ah)
{
	for (const struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		for (const struct fake_work *w = qp->sends; w; w = w->next)
			if (qp->base.qp_type == IBV_QPT_UD && w->wr.wr.ud.ah == ah)
				fake.early++;
	if (fake_fails(FAKE_DESTROY_AH)) {
		fake_unmake(ah);
		return failing.error;
	}
	return fake_unmake(ah);
}

/* ---- completion queues ---- */

static struct ibv_comp_channel *create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel;

	if (fake_fails(FAKE_CREATE_COMP_CHANNEL))
		return NULL;
	channel = fake_make(sizeof(*channel));
	channel->context = context;
	channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
	return channel;
}

static int destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	return fake_unmake(channel);
}

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe, void *cq_context,
				struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq;

	if (fake_fails(FAKE_CREATE_CQ))
		return NULL;
	cq = fake_make(sizeof(*cq));
	cq->base.context = context;
	cq->base.channel = channel;
	cq->base.cq_context = cq_context;
	cq->base.cqe = cqe;
	cq->tail = &cq->head;
	cq->next = fake_world.cqs;
	fake_world.cqs = cq;
	return &cq->base;
}

static int resize_cq(struct ibv_cq *cq, int cqe)
{
	if (fake_fails(FAKE_RESIZE_CQ))
		return errno;
	cq->cqe = cqe;
	return 0;
}

static int destroy_cq(struct ibv_cq *base)
{
	struct fake_cq *cq = (struct fake_cq *)base, **at = &fake_world.cqs;

	while (*at != cq)
		at = &(*at)->next;
	*at = cq->next;
	while (cq->head) {
		struct fake_cqe *cqe = cq->head;

		cq->head = cqe->next;
		free(cqe);
	}
	return fake_unmake(cq);
}

static int get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			void **ret_cq_context)
{
	struct fake_cq *cq = fake_world.cqs;
	uint64_t one;

	if (read(channel->fd, &one, sizeof(one)) != sizeof(one))
		return -1;
	while (cq->base.channel != channel || !cq->is_event)
		cq = cq->next;
	cq->is_event = false;
	*ret_cq = &cq->base;
	*ret_cq_context = cq->base.cq_context;
	return 0;
}

static void ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
}

static int get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	return fake_event_take(context, event) ? 0 : -1;
}

void fake_say(struct ibv_context *context, enum ibv_event_type event)
{
	fake_event_add(context, event, NULL);
}

static void ack_async_event(struct ibv_async_event *event)
{
}

static const char *wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_RETRY_EXC_ERR ? "transport retry counter exceeded" : "fake status";
}

/* ---- queue pairs ---- */

static void count_qps(const struct ibv_context *context)
{
	int n = 0;

	for (const struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		n += qp->base.context == context && qp->base.qp_type == IBV_QPT_RC;
	if (n > fake.most_qps)
		fake.most_qps = n;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp;

	if (fake_fails(FAKE_CREATE_QP))
		return NULL;
	if (attr->cap.max_inline_data > fake.max_inline || attr->cap.max_send_wr > 1024 ||
	    attr->cap.max_recv_wr > 1024) {
		errno = EINVAL;
		return NULL;
	}
	qp = fake_make(sizeof(*qp));
	qp->base.context = pd->context;
	qp->base.pd = pd;
	qp->base.qp_type = attr->qp_type;
	qp->base.qp_num = 0x100 + ++fake_world.next_qp;
	qp->base.state = IBV_QPS_RESET;
	qp->cap = attr->cap;
	qp->send_cq = (struct fake_cq *)attr->send_cq;
	qp->recv_cq = (struct fake_cq *)attr->recv_cq;
	qp->srq = (struct fake_srq *)attr->srq;
	qp->late_tail = &qp->late;
	qp->sends_tail = &qp->sends;
	qp->receives_tail = &qp->receives;
	qp->next = fake_world.qps;
	fake_world.qps = qp;
	count_qps(pd->context);
	return &qp->base;
}

/*
 * Whether a queue pair may go to state @to with the attributes in @mask. Each step of RESET, INIT,
 * RTR, RTS requires some.
 */
static bool is_allowed(const struct fake_qp *qp, enum ibv_qp_state to, int mask)
{
	const int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC;
	bool is_rc = qp->base.qp_type == IBV_QPT_RC;
	int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_rc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);

	if (to == IBV_QPS_ERR || to == IBV_QPS_RESET)
		return true;
	if (to == IBV_QPS_INIT)
		return qp->base.state == IBV_QPS_RESET && (mask & init) == init;
	if (to == IBV_QPS_RTR)
		return qp->base.state == IBV_QPS_INIT && (!is_rc || (mask & rtr) == rtr);
	return to == IBV_QPS_RTS && qp->base.state == IBV_QPS_RTR &&
	       (is_rc ? (mask & rts) == rts : mask & IBV_QP_SQ_PSN);
}

static int modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = (struct fake_qp *)base;

	if (fake_fails(FAKE_MODIFY_QP))
		return errno;
	if (!(mask & IBV_QP_STATE) || !is_allowed(qp, attr->qp_state, mask))
		return EINVAL;
	if (mask & IBV_QP_DEST_QPN)
		qp->peer = attr->dest_qp_num;
	if (mask & IBV_QP_QKEY)
		qp->q_key = attr->qkey;
	if (mask & IBV_QP_AV)
		qp->dgid = attr->ah_attr.grh.dgid;
	/* real ones would take what was not polled out of the completion queue */
	if (attr->qp_state == IBV_QPS_RESET && fake_qp_is_used(qp))
		fake.early++;
	if (attr->qp_state == IBV_QPS_ERR) {
		fake_qp_error(qp);
		return 0;
	}
	if (attr->qp_state == IBV_QPS_RESET) {
		fake_qp_reset(qp);
		fake_shared_reset(qp);
	}
	qp->base.state = attr->qp_state;
	return 0;
}

static int destroy_qp(struct ibv_qp *base)
{
	struct fake_qp **at = &fake_world.qps, *qp = (struct fake_qp *)base;

	bool is_refused = fake_fails(FAKE_DESTROY_QP);

	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	fake_shared_destroy(qp);
	fake_event_forget(base->context, base);
	fake_works_free(qp->sends);
	fake_works_free(qp->receives);
	fake_unmake(qp);
	return is_refused ? failing.error : 0;
}

static void break_all(int device, enum ibv_qp_type type)
{
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		if (qp->base.context->device == &devices[device] && qp->base.qp_type == type)
			fake_qp_error(qp);
}

void fake_break(int device)
{
	break_all(device, IBV_QPT_RC);
}

void fake_stick(int device)
{
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		qp->is_stuck |= qp->base.context->device == &devices[device] &&
				qp->base.qp_type == IBV_QPT_RC;
}

void fake_break_ud(int device)
{
	break_all(device, IBV_QPT_UD);
}

void fake_event(int device, enum ibv_event_type event)
{
	/* each context has one for greetings */
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		if (qp->base.context->device == &devices[device] && qp->base.qp_type == IBV_QPT_UD)
			fake_say(qp->base.context, event);
}

void fake_break_qp(struct ibv_qp *qp)
{
	fake_qp_error((struct fake_qp *)qp);
}

/* ---- beginning and end ---- */

static const struct verbs table = {
	.get_device_list = get_device_list,
	.free_device_list = free_device_list,
	.open_device = open_device,
	.close_device = close_device,
	.query_device = query_device,
	.query_port = query_port,
	.query_gid_ex = query_gid_ex,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_mr = reg_mr,
	.dereg_mr = dereg_mr,
	.create_comp_channel = create_comp_channel,
	.destroy_comp_channel = destroy_comp_channel,
	.create_cq = create_cq,
	.resize_cq = resize_cq,
	.destroy_cq = destroy_cq,
	.get_cq_event = get_cq_event,
	.ack_cq_events = ack_cq_events,
	.create_srq = fake_create_srq,
	.destroy_srq = fake_destroy_srq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.destroy_qp = destroy_qp,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.get_async_event = get_async_event,
	.ack_async_event = ack_async_event,
	.wc_status_str = wc_status_str,
};

static void set_up_port(int i)
{
	struct fake_port *port = &fake.ports[i];

	port->attr.state = IBV_PORT_ACTIVE;
	port->attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	port->attr.active_mtu = IBV_MTU_1024;
	port->attr.gid_tbl_len = FAKE_GIDS;
	port->attr.max_msg_sz = 1u << 30;
	port->n_gids = 2;
	for (int k = 0; k < 2; k++) {
		struct ibv_gid_entry *e = &port->gids[k];

		e->gid_index = (uint32_t)k;
		e->port_num = 1;
		e->gid_type = IBV_GID_TYPE_ROCE_V2;
		e->gid.raw[15] = (uint8_t)(i + 1);
	}
	port->gids[0].gid.raw[0] = 0xfe;
	port->gids[0].gid.raw[1] = 0x80;
	port->gids[1].gid.raw[10] = port->gids[1].gid.raw[11] = 0xff;
	port->gids[1].gid.raw[12] = 127;
}

void fake_begin(int n_devices)
{
	memset(&fake, 0, sizeof(fake));
	memset(&failing, 0, sizeof(failing));
	memset(&fake_world, 0, sizeof(fake_world));
	fake.n_devices = n_devices;
	fake.max_srq = getenv("FAKE_SRQ") ? atoi(getenv("FAKE_SRQ")) : 64;
	for (int i = 0; i < FAKE_DEVICES; i++) {
		snprintf(devices[i].name, sizeof(devices[i].name), "fake%d", i);
		snprintf(devices[i].dev_name, sizeof(devices[i].dev_name), "uverbs%d", i);
		set_up_port(i);
	}
	verbs_library_replace(&table);
}

void fake_end(void)
{
	verbs_library_replace(NULL);
}
