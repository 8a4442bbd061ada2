/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_verbs - an RDMA provider in memory, for tests: devices with one port each on one network,
 * and everything that pm-verbs uses of a queue pair. Every call can be made to fail at its n-th
 * use. Sent messages arrive at once, in the call that sends them, unless they are held. For one
 * thread only.
 */
#ifndef TESTS_UNIT_PM_VERBS_FAKE_VERBS_H
#define TESTS_UNIT_PM_VERBS_FAKE_VERBS_H

#include <stdbool.h>

#include "pm-verbs/hw/library.h"

#define FAKE_DEVICES 4
#define FAKE_GIDS 4

enum fake_call {
	FAKE_GET_DEVICE_LIST,
	FAKE_OPEN_DEVICE,
	FAKE_QUERY_DEVICE,
	FAKE_QUERY_PORT,
	FAKE_ALLOC_PD,
	FAKE_REG_MR,
	FAKE_CREATE_COMP_CHANNEL,
	FAKE_CREATE_CQ,
	FAKE_RESIZE_CQ,
	FAKE_CREATE_QP,
	FAKE_MODIFY_QP,
	FAKE_CREATE_AH,
	FAKE_POST_SEND,
	FAKE_POST_RECV,
	FAKE_REQ_NOTIFY_CQ,
	FAKE_CREATE_SRQ,
	FAKE_POST_SRQ_RECV,
	FAKE_CALLS,
	/* memory that is not deregistered is so at the next attempt; the others go all the same */
	FAKE_DEREG_MR = FAKE_CALLS,
	FAKE_DESTROY_QP,
	FAKE_DESTROY_AH,
	FAKE_CALLS_AND_ENDS
};

struct fake_port {
	struct ibv_port_attr attr;
	struct ibv_gid_entry gids[FAKE_GIDS]; /* gid_type as the library has it */
	int n_gids;
	bool is_cut; /* nothing comes in or goes out */
};

struct fake {
	struct fake_port ports[FAKE_DEVICES]; /* one per device: fake0, fake1, ... */
	int n_devices;
	uint32_t max_inline;
	bool is_held;    /* what is sent waits for fake_run */
	int drop_ud;     /* so many of the next datagrams get lost */
	int refuse_ud;   /* so many of the next can't be sent: they stop their send queue */
	int drop_every;  /* one of so many datagrams gets lost, 0 = none */
	int max_srq;     /* queues of shared receives that a device has: 64, or $FAKE_SRQ */
	bool is_silent;  /* it does not say that a queue pair takes no more of them */
	bool is_late;    /* they are completed in fake_run, or at the RESET of a silent device */
	int lose_shared; /* so many of the next queue pairs in error take a shared receive along */
	enum ibv_wc_status spoil; /* the next RC send is not carried out, and says so */
	int lose_acks;            /* so many of the next RC sends arrive and are reported as not */
	uint64_t lockable;        /* bytes that may be registered, 0 = endless */
	/* what happened */
	long calls[FAKE_CALLS_AND_ENDS];
	long live;        /* objects made and not destroyed */
	long overflows;   /* completions that found their queue full */
	long not_ready;   /* RC sends that found no receive */
	long waits;       /* RC sends that found no shared receive, and came later */
	long resent;      /* RC sends */
	long datagrams;   /* UD sends */
	long unsignalled; /* ... of them without a completion */
	long inlined;     /* RC sends whose bytes were copied when posted */
	long early;       /* objects changed or destroyed while work needed them */
	long stale;       /* one-sided operations whose pages here were the program's no more */
	uint64_t locked;  /* bytes that are registered */
	int most_qps;     /* RC queue pairs of one context that there ever were at once */
};

extern struct fake fake;

/*
 * Devices fake0.. with an active RoCE v2 port: GID 0 link-local, GID 1 IPv4. Replaces the library.
 */
void fake_begin(int n_devices);
/* Takes the library back. */
void fake_end(void);
/* The @nth use of @call from now on fails with @error, once. 0 = none. */
void fake_fail(enum fake_call call, int nth, int error);
/* Carries out what is held. */
void fake_run(void);
/* Every RC queue pair of the device goes into error, as when the device breaks. */
void fake_break(int device);
/* They carry out nothing more and report nothing, until they are put into error. */
void fake_stick(int device);
/* Its UD queue pairs go into error. */
void fake_break_ud(int device);
/* The device's port says so. */
void fake_event(int device, enum ibv_event_type event);
/* Frees the memory regions that were not deregistered. */
void fake_forget(void);
/* One goes into error. */
void fake_break_qp(struct ibv_qp *qp);
/* The shared receives of the device fail, and say so. */
void fake_break_shared(int device);
/* The program has other pages there now; what is registered goes on with the old ones. */
void fake_replaced(const void *addr, size_t len);
const char *fake_call_name(enum fake_call call);

#endif
