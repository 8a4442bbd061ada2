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

/* All below: there is a page. */
void mtl_pm_order_done(uint32_t order);
/* It could not be carried out, for that reason. Returns false. */
bool mtl_pm_order_failed(uint32_t order, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Until another order than this one is there, or for so long. */
void mtl_pm_order_sleep(uint32_t order, long ns);

/* For pmRevive: the key, and the devices in @config, which has that room; "": as at first. */
uint64_t mtl_pm_order_devices(char *config, size_t room);
/* After it: our new address. */
void mtl_pm_order_tell_address(const char *address, size_t length);
/* All addresses from before lead nowhere any more. */
void mtl_pm_order_forget_addresses(void);
/* Those of now are in the page. */
void mtl_pm_order_take_addresses(void);

/*
 * The job was suspended once, so the launcher's addresses are old. Also if there is no page: false.
 */
bool mtl_pm_order_has_changed_addresses(void);
/* The address of a node in the page, to be freed. NULL: it is not there. */
void *mtl_pm_order_address(pmNode node, size_t *ret_length);

#endif
