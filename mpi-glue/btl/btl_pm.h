/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl_pm - Open MPI's byte transfer layer over PM: active messages for pml/ob1, and put, get and
 * atomic operations for osc/rdma.
 *
 * Owns the types and the one module object all files of this directory share. It has its PM context
 * and its lock in common with mtl/pm, which polls for both, whether messages of MPI go by mtl/pm or
 * not. Callbacks run outside of the lock: ours in btl_pm_progress, those of mtl/pm wherever it is
 * left.
 */
#ifndef BTL_PM_H
#define BTL_PM_H

#include "ompi_config.h"

#include "opal/class/opal_bitmap.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/util/proc.h"

#include "mpi-glue/btl/btl_pm_compat.h"
#include "mpi-glue/common/active.h"
#include "mpi-glue/common/ids.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "pm.h"

#include <stdbool.h>
#include <sys/queue.h>

/* Longest message of one descriptor, with all headers: Open MPI cuts longer ones. */
#define BTL_PM_SEND_MAX ACTIVE_LENGTH_MAX
#define BTL_PM_SMALL 4096u
/* The kind of an atomic operation: PM carries it out, so nothing of ours is sent. */
#define BTL_PM_ATOMIC ACTIVE_KINDS

/* Open MPI copies it to other processes, as the handle of a registered region. */
struct mca_btl_base_registration_handle_t {
	uint64_t region; /* in the owner's regions */
	uint64_t base;   /* its address there */
	pmHandle memory;
};

/* Memory that others may reach. */
struct btl_pm_region {
	mca_btl_base_registration_handle_t handle;
	size_t length;
	uint32_t access; /* MCA_BTL_REG_FLAG_* */
};

/* A message, from its allocation to its completion. */
struct btl_pm_descriptor {
	mca_btl_base_descriptor_t base; /* first: Open MPI knows this part */
	mca_btl_base_segment_t segment; /* @bytes */
	STAILQ_ENTRY(btl_pm_descriptor)
	link; /* in the endpoint's sends, or the module's over or free ones */
	struct mca_btl_base_endpoint_t *endpoint;
	mca_btl_base_tag_t tag;
	size_t room; /* bytes that it can hold */
	size_t sent; /* bytes handed to PM */
	bool has_failed;
	char bytes[] __attribute__((aligned(16)));
};

STAILQ_HEAD(btl_pm_descriptors, btl_pm_descriptor);

/* A one-sided operation of ours. */
struct btl_pm_operation {
	STAILQ_ENTRY(btl_pm_operation) link; /* in the endpoint's waiting, or the module's ended */
	TAILQ_ENTRY(btl_pm_operation) run;   /* in the module's running: PM carries it out */
	struct mca_btl_base_endpoint_t *endpoint;
	/* in the module's ids, once it was sent; 0: nobody can answer it, or PM carries it out */
	uint64_t id;
	uint8_t kind;    /* ACTIVE_PUT, ACTIVE_PUTS, ACTIVE_GET or BTL_PM_ATOMIC */
	bool is_by_pm;   /* PM reads, writes or changes the memory itself */
	pmDesc desc;     /* ... while it runs */
	bool is_pulled;  /* a put that the target reads out of our memory */
	bool is_exposed; /* ... so PM has registered the data, */
	pmHandle source; /* ... by this handle */
	void *local;     /* data, or place of the value before; NULL: nobody wants it */
	size_t length;   /* bytes of data */
	uint64_t remote; /* address */
	pmAtomicOp atomic;
	mca_btl_base_registration_handle_t target;
	mca_btl_base_registration_handle_t *local_handle; /* the caller's, for the callback */
	mca_btl_base_rdma_completion_fn_t call;
	void *context, *data;
	int status;                 /* how it ended: OPAL_SUCCESS or OPAL_ERR_* */
	struct btl_pm_batch *batch; /* of ACTIVE_PUTS */
};

STAILQ_HEAD(btl_pm_operations, btl_pm_operation);

/* Short puts that share a datagram. */
#define BTL_PM_BATCH_BYTES 4096u
struct btl_pm_batch {
	STAILQ_ENTRY(btl_pm_batch) link; /* in the module's free ones */
	struct btl_pm_operation whole;
	struct btl_pm_operations parts;
	size_t used; /* bytes of the datagram */
	uint32_t n;  /* parts */
	char bytes[BTL_PM_BATCH_BYTES] __attribute__((aligned(8)));
};

STAILQ_HEAD(btl_pm_batches, btl_pm_batch);
TAILQ_HEAD(btl_pm_running, btl_pm_operation);

/* A put of another process that we read out of its memory. */
struct btl_pm_pull {
	TAILQ_ENTRY(btl_pm_pull) link; /* in the module's pulls */
	struct mca_btl_base_endpoint_t *from;
	struct active_pull request;
	pmDesc desc; /* of PM's read; 0: PM had no room for it yet */
};

TAILQ_HEAD(btl_pm_pulls, btl_pm_pull);

/* An answer that PM had no buffer for. */
struct btl_pm_answer {
	STAILQ_ENTRY(btl_pm_answer) link;
	size_t length;
	char bytes[] __attribute__((aligned(8)));
};

STAILQ_HEAD(btl_pm_answers, btl_pm_answer);

/* An active message that has arrived, and is still to be told to Open MPI. */
struct btl_pm_arrival {
	STAILQ_ENTRY(btl_pm_arrival) link;
	struct mca_btl_base_endpoint_t *from;
	mca_btl_base_tag_t tag;
	size_t length;
	char bytes[] __attribute__((aligned(16)));
};

STAILQ_HEAD(btl_pm_arrivals, btl_pm_arrival);

/* One process that we talk with. Lives until the module closes. */
struct mca_btl_base_endpoint_t {
	pmNode node;
	struct mtl_pm_peer *peer; /* whose of_client this is */
	opal_proc_t *proc;        /* NULL: it wrote to us, and Open MPI has not named it yet */
	size_t mtu;               /* bytes of a datagram */
	uint64_t pull_from;       /* so long puts are read by their target; 0: none are */
	bool is_direct;           /* PM reads and writes there without the process */
	uint32_t waits_in;        /* round that found an atomic operation of it not done */
	bool is_dead;
	char *why;     /* it died, and the job is still to be ended for that */
	bool has_left; /* Open MPI does not know it any more */
	bool is_busy;  /* has something to retry, and is in the module's busy ones */
	TAILQ_ENTRY(mca_btl_base_endpoint_t) busy;
	struct btl_pm_descriptors
		sends; /* not handed over yet, in order; the first may be half done */
	struct btl_pm_operations waiting; /* ... the same, of operations */
	struct btl_pm_answers answers;    /* ... of answers */
	struct btl_pm_batch *batch;       /* puts that will be sent at the next poll; NULL: none */
	uint32_t n_asked, n_exposed;      /* ours without an answer; those that it reads */
	uint32_t n_answers, n_pulls;      /* answers that wait; its puts that we read */
	uint32_t n_done;                  /* its puts that are carried out and not answered */
	uint64_t done[ACTIVE_DONE_MAX];   /* ... their ids */
	struct btl_pm_arrival *parts; /* a message of its that comes in parts; NULL: none does */
	size_t parts_got;             /* bytes of it that have come */
};

TAILQ_HEAD(btl_pm_endpoints, mca_btl_base_endpoint_t);

/* The module: first what Open MPI sees, then ours. */
struct btl_pm {
	mca_btl_base_module_t super;

	bool is_open;
	mca_btl_base_module_error_cb_fn_t on_error;
	struct btl_pm_endpoints busy;
	struct btl_pm_arrivals arrivals;
	struct mca_btl_base_endpoint_t *died; /* the last one whose why is set */
	struct ids operations;                /* ours that wait for an answer */
	struct ids regions;                   /* struct btl_pm_region */
	struct btl_pm_running running;
	uint32_t rounds; /* looks at those */
	struct btl_pm_pulls pulls;
	struct btl_pm_operations ended; /* the callback is still to be called */
	struct btl_pm_descriptors over; /* the same; sent or not */
	struct btl_pm_descriptors free_small, free_large;
	struct btl_pm_operations free_operations;
	struct btl_pm_batches free_batches;
	bool is_closing;   /* peers may go */
	uint32_t idle;     /* polls in a row that brought nothing */
	uint64_t watch_ns; /* no look at the others before */
	uint64_t damaged;  /* datagrams dropped because no honest peer sends them */
};

extern struct btl_pm btl_pm;
extern mca_btl_base_component_3_0_0_t mca_btl_pm_component;

/* btl_pm_module.c */
/* OPAL_SUCCESS: the context is open, and the others are told. Else the reason was said. */
int btl_pm_open(bool wants_threads);
int btl_pm_finalize(mca_btl_base_module_t *btl);

/* btl_pm_endpoint.c */
/* NULL: there is no memory for it. */
struct mca_btl_base_endpoint_t *btl_pm_endpoint(struct mtl_pm_peer *peer);
int btl_pm_add_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
		     struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable);
int btl_pm_del_procs(mca_btl_base_module_t *btl, size_t n, opal_proc_t **procs,
		     struct mca_btl_base_endpoint_t **endpoints);
/* For struct mtl_pm_client: PM has other devices. */
void btl_pm_met_again(struct mtl_pm_peer *peer);
/* It has something to retry. */
void btl_pm_endpoint_busy(struct mca_btl_base_endpoint_t *endpoint);
/* Ends the job with a sentence: without memory something that a peer waits for would be lost. */
void btl_pm_no_memory(void);

/* btl_pm_death.c */
/* PM has found the process dead: all that goes to it fails. Lock held. */
void btl_pm_on_death(struct mtl_pm_peer *peer, const char *why);
/* ... and the job ends, with a sentence. Lock not held. */
void btl_pm_tell_death(void);
/* Before the context closes. */
void btl_pm_bury_all(void);
/*
 * To be called at times while nothing arrives: asks the network whether the others are still there,
 * as a process that dies while nothing is sent to it would never be missed. Lock held.
 */
void btl_pm_watch(uint64_t now_ns);

/* btl_pm_send.c */
mca_btl_base_descriptor_t *btl_pm_alloc(mca_btl_base_module_t *btl,
					struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
					size_t size, uint32_t flags);
int btl_pm_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor);
mca_btl_base_descriptor_t *btl_pm_prepare_src(mca_btl_base_module_t *btl,
					      struct mca_btl_base_endpoint_t *endpoint,
					      opal_convertor_t *convertor, uint8_t order,
					      size_t reserve, size_t *size, uint32_t flags);
int btl_pm_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int btl_pm_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		 opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
		 uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
		 mca_btl_base_descriptor_t **ret_descriptor);
/* Hands over what PM takes now; true: all. Lock held, as for all below. */
bool btl_pm_push_sends(struct mca_btl_base_endpoint_t *endpoint);
void btl_pm_drop_sends(struct mca_btl_base_endpoint_t *endpoint);
void btl_pm_descriptors_free(void);

/* btl_pm_onesided.c */
int btl_pm_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
	       uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
	       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
	       mca_btl_base_rdma_completion_fn_t call, void *context, void *data);
int btl_pm_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
	       uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
	       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
	       mca_btl_base_rdma_completion_fn_t call, void *context, void *data);
int btl_pm_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		     uint64_t remote, mca_btl_base_registration_handle_t *remote_handle,
		     mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
		     mca_btl_base_rdma_completion_fn_t call, void *context, void *data);
int btl_pm_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		      void *local, uint64_t remote,
		      mca_btl_base_registration_handle_t *local_handle,
		      mca_btl_base_registration_handle_t *remote_handle,
		      mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
		      mca_btl_base_rdma_completion_fn_t call, void *context, void *data);
int btl_pm_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
			void *local, uint64_t remote,
			mca_btl_base_registration_handle_t *local_handle,
			mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
			uint64_t value, int flags, int order,
			mca_btl_base_rdma_completion_fn_t call, void *context, void *data);
/* Answers to our operations. */
void btl_pm_on_result(const struct active_result *m, const void *data, size_t length,
		      struct mca_btl_base_endpoint_t *from);
void btl_pm_on_done(const uint64_t *ids, uint32_t n, struct mca_btl_base_endpoint_t *from);
/* The target of one of ours has not carried it out. Lock not held. */
void btl_pm_say_failed(const struct btl_pm_operation *o);
bool btl_pm_push_operations(struct mca_btl_base_endpoint_t *endpoint);
void btl_pm_drop_operations(struct mca_btl_base_endpoint_t *endpoint);
/* Looks after those that PM carries out; how many have ended. */
int btl_pm_poll_running(void);
void btl_pm_operations_free(void);

/* btl_pm_batch.c */
/* Whether the operation may share a datagram: a put of few bytes. */
bool btl_pm_batch_takes(const struct btl_pm_operation *o);
/* Whether no put of so many bytes has room beside those of the endpoint that wait. */
bool btl_pm_batch_is_full(const struct mca_btl_base_endpoint_t *endpoint, size_t length);
/* The put waits with those of its endpoint, where there is room; false: there is no memory. */
bool btl_pm_batch_add(struct btl_pm_operation *o);
/* Those of the endpoint, to be started as one operation; NULL: there are none. */
struct btl_pm_operation *btl_pm_batch_close(struct mca_btl_base_endpoint_t *endpoint);
/* They have ended, so the callback of each is due. */
void btl_pm_batch_ended(struct btl_pm_batch *batch, int status);
void btl_pm_batches_free(void);

/* btl_pm_target.c */
mca_btl_base_registration_handle_t *btl_pm_register_mem(mca_btl_base_module_t *btl,
							struct mca_btl_base_endpoint_t *endpoint,
							void *base, size_t size, uint32_t flags);
int btl_pm_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle);
/* Operations of others on our memory. */
void btl_pm_on_put(const struct active_request *m, const void *data, size_t length,
		   struct mca_btl_base_endpoint_t *from);
void btl_pm_on_puts(const struct active_puts *m, const void *pieces,
		    struct mca_btl_base_endpoint_t *from);
void btl_pm_on_get(const struct active_request *m, struct mca_btl_base_endpoint_t *from);
/* The put of that id has ended: 0, or the error for which it was not carried out. */
void btl_pm_answer_put(struct mca_btl_base_endpoint_t *from, uint64_t id, int error);
/* So many bytes at that address of a region of ours; NULL: they may not be reached so. */
void *btl_pm_find(uint64_t region, uint64_t address, uint64_t length, uint32_t access);
bool btl_pm_push_answers(struct mca_btl_base_endpoint_t *endpoint);
void btl_pm_drop_answers(struct mca_btl_base_endpoint_t *endpoint);

/* btl_pm_pull.c */
void btl_pm_on_pull(const struct active_pull *m, struct mca_btl_base_endpoint_t *from);
/* Looks after the reads; how many have ended. */
int btl_pm_poll_pulls(void);
/* The context is closed. */
void btl_pm_pulls_free(void);

/* btl_pm_progress.c: the functions of a struct mtl_pm_client. */
void btl_pm_arrive(struct mtl_pm_peer *peer, const void *datagram, size_t len);
int btl_pm_poll(void);
int btl_pm_progress(void);
bool btl_pm_is_idle(void);
void btl_pm_arrivals_free(void);

#endif
