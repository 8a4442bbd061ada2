/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_orders - the rank's side of pmcore/util/suspend_page.h: where orders come from, and where
 * the rank says how far it is. mtl_pm_suspend.c carries them out.
 */
#ifndef MTL_PM_ORDERS_H
#define MTL_PM_ORDERS_H

#include "mpi-glue/mtl/mtl_pm.h"

extern struct mtl_pm_orders {
	const uint32_t *word; /* of the page; without one it is 0 for ever */
	uint32_t seen;        /* the last one that was carried out, or begun */
	uint32_t failed;      /* the last one that could not be carried out */
} mtl_pm_orders;

/*
 * Before the context is opened: waits until the job does not stand still. True: it has changed its
 * devices, so this rank opens those of mtl_pm_order_devices(), and the job's key is another.
 */
bool mtl_pm_orders_await(void);
/* The context is open: from here on orders are looked at, if there is a page. */
void mtl_pm_orders_open(void);
/* ... is to be closed. */
void mtl_pm_orders_close(void);

static inline uint32_t mtl_pm_order(void)
{
	return __atomic_load_n(mtl_pm_orders.word, __ATOMIC_ACQUIRE);
}

static inline bool mtl_pm_order_is_due(void)
{
	return mtl_pm_order() != mtl_pm_orders.seen;
}

/* All below to mtl_pm_order_take_addresses(): there is a page. */
void mtl_pm_order_done(uint32_t order);
/* It could not be carried out, for that reason. Returns false. */
bool mtl_pm_order_failed(uint32_t order, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Until another order than this one is there, or for so long. */
void mtl_pm_order_sleep(uint32_t order, long ns);

#define MTL_PM_ORDER_CONFIG_MAX 640

/*
 * For PM: the key, and in @config the page's devices, and under them the options that shared memory
 * is opened with.
 */
uint64_t mtl_pm_order_devices(char config[MTL_PM_ORDER_CONFIG_MAX]);
/* After it: our new address. */
void mtl_pm_order_tell_address(const char *address, size_t length);
/* All addresses from before lead nowhere any more. */
void mtl_pm_order_forget_addresses(void);
/* Those of now are in the page. */
void mtl_pm_order_take_addresses(void);

/*
 * The job was suspended since that node's world began, so the launcher's address of it is old. Also
 * if there is no page: false.
 */
bool mtl_pm_order_has_changed_address(pmNode node);
/* Whether the page has an address of that node. In SUSPEND_MEET all ranks that live have one. */
bool mtl_pm_order_knows(pmNode node);
/* Nodes that have one, by ascending number; *ret_own is our place among them. */
uint32_t mtl_pm_order_nodes(uint32_t *ret_own);
pmNode mtl_pm_order_node(uint32_t place);
/* The address of a node in the page, to be freed. NULL: it is not there. */
void *mtl_pm_order_address(pmNode node, size_t *ret_length);

#endif
