/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake provider's objects, shared by its files. */
#ifndef TESTS_UNIT_PM_VERBS_FAKE_PRIVATE_H
#define TESTS_UNIT_PM_VERBS_FAKE_PRIVATE_H

#include <stdbool.h>

#include "tests/unit/pm-verbs/fake_verbs.h"

#define FAKE_INLINE 512

/* A device as one process has opened it, with a link of its own to the network. */
struct fake_context {
	struct ibv_context base; /* first */
	bool is_cut;             /* as of a port */
	bool is_down;            /* also: what is to be sent finds no route, as with rdma_rxe */
};

struct fake_mr {
	struct ibv_mr base; /* first */
	struct fake_mr *next;
	int access;
	bool is_stale; /* its pages are the program's no more */
};

struct fake_ah {
	struct ibv_ah base; /* first */
	union ibv_gid dgid;
};

struct fake_cqe {
	struct fake_cqe *next;
	struct ibv_wc wc;
	uint32_t n_sends; /* places in the send queue that it gives back when polled */
};

struct fake_cq {
	struct ibv_cq base; /* first */
	struct fake_cqe *head, **tail;
	int n;
	bool is_armed;
	bool is_event;        /* that waits in the channel */
	struct fake_cq *next; /* all */
};

/* A posted work request with one piece of memory. */
struct fake_work {
	struct fake_work *next;
	struct ibv_send_wr wr; /* of a receive: only wr_id */
	struct ibv_sge sge;
	uint8_t copy[FAKE_INLINE];
	bool is_inline;
};

/* Receives that queue pairs share. */
struct fake_srq {
	struct ibv_srq base; /* first */
	struct fake_work *receives, **tail;
	uint32_t n, room;
};

struct fake_event {
	struct fake_event *next;
	struct ibv_context *context;
	struct ibv_async_event event;
};

struct fake_qp {
	struct ibv_qp base; /* first */
	struct fake_qp *next;
	struct ibv_qp_cap cap;
	struct fake_cq *send_cq, *recv_cq;
	struct fake_srq *srq;
	struct fake_cqe *late, **late_tail; /* completions that the device still has */
	bool is_waiting;                    /* the other side had no receive */
	bool is_stuck;                      /* what is posted stays there */
	struct fake_work *sends, **sends_tail;
	struct fake_work *receives, **receives_tail;
	uint32_t n_sends;  /* posted and not polled */
	uint32_t n_silent; /* ... of them, done without a completion */
	uint32_t n_receives;
	uint32_t peer; /* number of the queue pair at the other end */
	union ibv_gid dgid;
	uint32_t q_key; /* UD: of the datagrams that it takes */
};

struct fake_world {
	struct fake_mr *mrs;
	struct fake_qp *qps;
	struct fake_cq *cqs;
	struct fake_event *events; /* oldest first */
	uint32_t next_key, next_qp;
};

extern struct fake_world fake_world;

bool fake_fails(enum fake_call call);
struct fake_port *fake_port_of(struct ibv_context *context);
void fake_say(struct ibv_context *context, enum ibv_event_type event);
/* Carries out what is held of one queue pair. */
void fake_qp_run(struct fake_qp *qp);
/* The queue pair goes into error: all that is posted completes as flushed. */
void fake_qp_error(struct fake_qp *qp);
/* The queue pair forgets all that is posted. */
void fake_qp_reset(struct fake_qp *qp);
void fake_works_free(struct fake_work *work);
/* Whether something posted to it has not been polled. */
bool fake_qp_is_used(const struct fake_qp *qp);
struct fake_work *fake_work_take(struct fake_work **head, struct fake_work ***tail);
void fake_work_add(const struct ibv_recv_wr *wr, struct fake_work ***tail);
void *fake_make(size_t size);
int fake_unmake(void *object);

/* Into the queue: it is found by polling. */
void fake_complete(struct fake_cq *cq, const struct ibv_wc *wc, uint32_t n_sends);
/* Tries again what waits for receives. */
void fake_retry(void);

void fake_event_add(struct ibv_context *context, enum ibv_event_type type, struct ibv_qp *qp);
bool fake_event_take(struct ibv_context *context, struct ibv_async_event *ret);
/* Nobody hears of the queue pair any more; NULL: of the device. */
void fake_event_forget(struct ibv_context *context, const struct ibv_qp *qp);

struct ibv_srq *fake_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int fake_destroy_srq(struct ibv_srq *srq);
int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* A message came by a shared receive. */
void fake_shared_complete(struct fake_qp *qp, const struct ibv_wc *wc);
/* The queue pair is in error, has been reset, or is destroyed. */
void fake_shared_error(struct fake_qp *qp);
void fake_shared_reset(struct fake_qp *qp);
void fake_shared_destroy(struct fake_qp *qp);
/* Delivers completions that devices still have; queue pairs in error report their last one. */
void fake_shared_run(void);

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif
