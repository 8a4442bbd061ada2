/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * library - libibverbs as a table of functions, found by dlopen when the first context wants it: a
 * machine without the library runs everything else. Calls that its header inlines go by
 * context->ops as there. Tests put a table of their own in its place.
 */
#ifndef PM_VERBS_HW_LIBRARY_H
#define PM_VERBS_HW_LIBRARY_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Each member is what the function of that name with ibv_ before it does. */
struct verbs {
	struct ibv_device **(*get_device_list)(int *ret_n);
	void (*free_device_list)(struct ibv_device **list);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *context);
	int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attr);
	/* the old call: use verbs_query_port */
	int (*query_port)(struct ibv_context *context, uint8_t port,
			  struct _compat_ibv_port_attr *attr);
	int (*query_gid_ex)(struct ibv_context *context, uint32_t port, uint32_t index,
			    struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t len, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
	int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int vector);
	int (*resize_cq)(struct ibv_cq *cq, int cqe);
	int (*destroy_cq)(struct ibv_cq *cq);
	int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			    void **ret_cq_context);
	void (*ack_cq_events)(struct ibv_cq *cq, unsigned int n);
	struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
	int (*destroy_srq)(struct ibv_srq *srq);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
	int (*destroy_ah)(struct ibv_ah *ah);
	int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
	void (*ack_async_event)(struct ibv_async_event *event);
	const char *(*wc_status_str)(enum ibv_wc_status status);
};

#define VERBS_WHY 160

/* The table, loaded once and for good; or NULL with a sentence in @why (VERBS_WHY bytes). */
const struct verbs *verbs_library(char *why);
/* The kernel has RDMA at all: without, the library need not be there. */
bool verbs_is_possible(void);
/* Tests: from now on this is the table; NULL goes back to the library. */
void verbs_library_replace(const struct verbs *table);

/* The whole of what a port says: the library's exported call knows the fields of old only. */
int verbs_query_port(const struct verbs *verbs, struct ibv_context *context, uint8_t port,
		     struct ibv_port_attr *ret_attr);

#endif
