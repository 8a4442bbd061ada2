// SPDX-License-Identifier: BSD-3-Clause
/*
 * greeter - the UD queue pair of a rail that greetings go by. A datagram that its device can't send
 * (with rdma_rxe: the link is down) stops it. When all its datagrams have come back it is reset and
 * starts again, under the same number, which others know as our address. One that does not start
 * again is left alone: greetings take the other rails.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/opening.h"

#define DATAGRAMS (PMV_GREETINGS_IN + PMV_GREETINGS_OUT)
#define GREETING_ROOM ((size_t)DATAGRAMS * PMV_DATAGRAM)

/* ---- paths ---- */

void pmv_path_to(const struct pmv_rail *rail, const struct pmv_end *end, struct ibv_ah_attr *ret)
{
	pmv_path(&rail->port, rail->gid, end, ret);
}

struct pmv_path *pmv_path_open(struct pmv_link *link, struct pmv_rail *rail,
			       const struct pmv_end *end)
{
	struct pmv_path *path = calloc(1, sizeof(*path));
	struct ibv_ah_attr attr;

	if (!path)
		return NULL;
	pmv_path_to(rail, end, &attr);
	errno = 0;
	path->ah = link->v->create_ah(rail->pd, &attr);
	if (path->ah)
		return path;
	free(path);
	return NULL;
}

static void free_old_paths(struct pmv_link *link, struct pmv_rail *rail)
{
	while (rail->old_paths) {
		struct pmv_path *path = rail->old_paths;

		int err = link->v->destroy_ah(path->ah);

		if (err)
			pmv_note_refusal(link, "an address handle is not destroyed", err);
		rail->old_paths = path->next;
		free(path);
	}
}

void pmv_path_close(struct pmv_link *link, struct pmv_rail *rail, struct pmv_path *path)
{
	path->next = rail->old_paths;
	rail->old_paths = path;
	/* a goodbye may still be on its way out */
	if (!rail->n_out)
		free_old_paths(link, rail);
}

/* ---- start and stop ---- */

static int post_receive(struct pmv_datagram *datagram)
{
	struct pmv_rail *rail = datagram->rail;
	struct ibv_sge sge = {.addr = (uintptr_t)datagram->data,
			      .length = PMV_DATAGRAM,
			      .lkey = rail->greetings_mr->lkey};
	struct ibv_recv_wr wr = {
		.wr_id = (uintptr_t)&datagram->work, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;
	int err = ibv_post_recv(rail->greeter, &wr, &bad);

	rail->n_in += !err;
	return err;
}

static uint32_t q_key(const struct pmv_link *link)
{
	return pmv_q_key(link->env.job_key, PMV_GREETINGS);
}

/* 0 or an errno. */
static int start(struct pmv_link *link, struct pmv_rail *rail)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = rail->port.number, .qkey = q_key(link)};
	int err = link->v->modify_qp(rail->greeter, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	for (int i = 0; !err && i < PMV_GREETINGS_IN; i++)
		err = post_receive(&rail->datagrams[i]);
	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = link->v->modify_qp(rail->greeter, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!err)
		err = link->v->modify_qp(rail->greeter, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return err < 0 ? -err : err;
}

static int set_state(struct pmv_link *link, struct pmv_rail *rail, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return link->v->modify_qp(rail->greeter, &attr, IBV_QP_STATE);
}

static void give_up(struct pmv_rail *rail, const char *what, int err)
{
	rail->greeter_state = PMV_GREETER_BROKEN;
	snprintf(rail->greeter_why, sizeof(rail->greeter_why), "its queue pair cannot be %s: %s",
		 what, strerror(err));
}

/* Only its send queue may have stopped: as a whole in error it gives back the receives too. */
static void stop(struct pmv_link *link, struct pmv_rail *rail)
{
	int err;

	if (rail->greeter_state != PMV_GREETER_RUNS)
		return;
	rail->greeter_state = PMV_GREETER_STOPS;
	err = set_state(link, rail, IBV_QPS_ERR);
	if (err)
		give_up(rail, "stopped", err);
}

static void restart(struct pmv_link *link, struct pmv_rail *rail)
{
	int err = set_state(link, rail, IBV_QPS_RESET);

	if (!err)
		err = start(link, rail);
	if (err) {
		give_up(rail, "started again", err);
		return;
	}
	rail->greeter_state = PMV_GREETER_RUNS;
	rail->greeter_starts++;
}

/* Something posted to it has come back. */
static void returned(struct pmv_link *link, struct pmv_rail *rail)
{
	if (!rail->n_out)
		free_old_paths(link, rail);
	if (rail->greeter_state == PMV_GREETER_STOPS && !rail->n_out && !rail->n_in)
		restart(link, rail);
}

/* ---- open and close ---- */

/* Datagrams lie in one piece of memory: first those that come in. */
static int make_datagrams(struct pmv_link *link, struct pmv_rail *rail)
{
	rail->datagrams = calloc(DATAGRAMS, sizeof(*rail->datagrams));
	rail->greetings = aligned_alloc(4096, GREETING_ROOM);
	if (!rail->datagrams || !rail->greetings)
		return -1;
	memset(rail->greetings, 0, GREETING_ROOM);
	rail->greetings_mr =
		link->v->reg_mr(rail->pd, rail->greetings, GREETING_ROOM, IBV_ACCESS_LOCAL_WRITE);
	if (!rail->greetings_mr)
		return -1;
	for (int i = 0; i < DATAGRAMS; i++) {
		struct pmv_datagram *d = &rail->datagrams[i];

		d->rail = rail;
		d->data = rail->greetings + (size_t)i * PMV_DATAGRAM;
		d->work.kind = i < PMV_GREETINGS_IN ? PMV_WORK_GREETING_IN : PMV_WORK_GREETING_OUT;
		if (i < PMV_GREETINGS_IN)
			continue;
		d->next = rail->free_datagrams;
		rail->free_datagrams = d;
	}
	return 0;
}

int pmv_greeter_open(struct pmv_link *link, struct pmv_rail *rail, const char **ret_what)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rail->cq,
		.recv_cq = rail->cq,
		.cap = {.max_send_wr = PMV_GREETINGS_OUT,
			.max_recv_wr = PMV_GREETINGS_IN,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};

	*ret_what = "memory for greetings";
	if (make_datagrams(link, rail))
		return -1;
	rail->cq_used += DATAGRAMS;
	*ret_what = "no queue pair for greetings";
	rail->greeter = link->v->create_qp(rail->pd, &attr);
	if (!rail->greeter)
		return -1;
	*ret_what = "the queue pair for greetings does not start";
	errno = start(link, rail);
	return errno ? -1 : 0;
}

void pmv_greeter_close(struct pmv_link *link, struct pmv_rail *rail)
{
	if (rail->greeter)
		link->v->destroy_qp(rail->greeter);
	free_old_paths(link, rail);
	if (rail->greetings_mr)
		link->v->dereg_mr(rail->greetings_mr);
	free(rail->greetings);
	free(rail->datagrams);
}

/* ---- datagrams ---- */

void pmv_greeter_send(struct pmv_link *link, struct pmv_rail *rail, struct pmv_path *path,
		      uint32_t number, const uint8_t *bytes, size_t len)
{
	struct pmv_datagram *d = rail->free_datagrams;
	struct ibv_sge sge = {.length = (uint32_t)len, .lkey = rail->greetings_mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = path->ah, .remote_qpn = number, .remote_qkey = q_key(link)}};
	struct ibv_send_wr *bad;

	if (!d || rail->greeter_state != PMV_GREETER_RUNS)
		return;
	assert(len <= PMV_DATAGRAM);
	memcpy(d->data, bytes, len);
	wr.wr_id = (uintptr_t)&d->work;
	sge.addr = (uintptr_t)d->data;
	if (ibv_post_send(rail->greeter, &wr, &bad))
		return;
	rail->free_datagrams = d->next;
	rail->n_out++;
}

void pmv_greeting_sent(struct pmv_link *link, struct pmv_datagram *datagram,
		       enum ibv_wc_status status)
{
	struct pmv_rail *rail = datagram->rail;

	datagram->next = rail->free_datagrams;
	rail->free_datagrams = datagram;
	rail->n_out--;
	if (status)
		stop(link, rail);
	returned(link, rail);
}

void pmv_greeting_received(struct pmv_link *link, struct pmv_datagram *datagram,
			   const struct ibv_wc *wc)
{
	struct pmv_rail *rail = datagram->rail;

	rail->n_in--;
	if (wc->status)
		stop(link, rail);
	else if (wc->byte_len >= PMV_GRH)
		link->from_hw->greeted(link, datagram->data + PMV_GRH, wc->byte_len - PMV_GRH);
	/* one that can't be posted again is one less: the others go on */
	if (rail->greeter_state == PMV_GREETER_RUNS && post_receive(datagram) && !rail->n_in)
		stop(link, rail);
	returned(link, rail);
}
