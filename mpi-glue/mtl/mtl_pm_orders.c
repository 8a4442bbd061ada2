// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_orders - the page of orders, mapped. */
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "pmcore/util/suspend_page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(SUSPEND_ADDRESS_MAX == PM_ADDRESS_MAX, "an address of PM fits");

static const uint32_t no_order;

struct mtl_pm_orders mtl_pm_orders = {.word = &no_order};

static struct {
	struct suspend_page *page; /* NULL: nobody gives orders */
	size_t size;
	struct suspend_slot *slot; /* ours */
	bool has_addresses;        /* it has them since the ranks were suspended */
} orders;

/* "SLOT:PATH". False: no page, or it can't be used, which the starter sees by the empty slot. */
static bool map(uint32_t *ret_slot)
{
	const char *text = getenv(SUSPEND_PAGE_VARIABLE);
	struct suspend_page *page;
	struct stat st;
	char *path;
	unsigned long slot = text ? strtoul(text, &path, 10) : 0;
	int fd;

	if (!text || path == text || *path != ':')
		return false;
	fd = open(path + 1, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	page = fstat(fd, &st)
		       ? MAP_FAILED
		       : mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return false;
	if (!suspend_page_check(page, (size_t)st.st_size) || slot >= page->n_slots) {
		munmap(page, (size_t)st.st_size);
		return false;
	}
	orders.page = page;
	orders.size = (size_t)st.st_size;
	*ret_slot = (uint32_t)slot;
	return true;
}

static void set_presence(enum suspend_presence presence)
{
	__atomic_store_n(&orders.slot->presence, presence, __ATOMIC_RELEASE);
}

void mtl_pm_orders_open(void)
{
	uint32_t slot;

	if (!map(&slot))
		return;
	orders.slot = suspend_page_slot(orders.page, slot);
	orders.has_addresses = false;
	(void)pmGetSelf(mtl_pm.ctx, &orders.slot->node);
	mtl_pm_orders.seen = 0;
	mtl_pm_orders.word = &orders.page->order;
	set_presence(SUSPEND_PRESENT);
}

void mtl_pm_orders_close(void)
{
	if (!orders.page)
		return;
	mtl_pm_orders.word = &no_order;
	mtl_pm_orders.seen = 0;
	set_presence(SUSPEND_GONE);
	munmap(orders.page, orders.size);
	orders.page = NULL;
}

void mtl_pm_order_done(uint32_t order)
{
	__atomic_store_n(&orders.slot->done, order, __ATOMIC_RELEASE);
}

void mtl_pm_order_failed(uint32_t order, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(orders.slot->why, sizeof(orders.slot->why), format, args);
	va_end(args);
	__atomic_store_n(&orders.slot->failed, order, __ATOMIC_RELEASE);
}

void mtl_pm_order_sleep(uint32_t order, long ns)
{
	const struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	syscall(SYS_futex, mtl_pm_orders.word, FUTEX_WAIT, order, &limit, NULL, 0);
}

uint64_t mtl_pm_order_devices(char *config, size_t room)
{
	snprintf(config, room, "%.*s", (int)sizeof(orders.page->config) - 1, orders.page->config);
	return orders.page->job_key;
}

void mtl_pm_order_tell_address(const char *address, size_t length)
{
	memcpy(orders.slot->address, address, length);
	orders.slot->address_length = (uint32_t)length;
}

void mtl_pm_order_take_addresses(void)
{
	orders.has_addresses = true;
}

static const struct suspend_address *find(pmNode node)
{
	struct suspend_page *page = orders.page;
	uint32_t low = 0, high = page->n_known < page->n_nodes ? page->n_known : page->n_nodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct suspend_address *a = suspend_page_address(page, middle);

		if (a->node == node)
			return a->length <= SUSPEND_ADDRESS_MAX ? a : NULL;
		if (a->node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void *mtl_pm_order_address(pmNode node, size_t *ret_length)
{
	const struct suspend_address *a = orders.page && orders.has_addresses ? find(node) : NULL;
	size_t length = a ? a->length : 0;
	void *copy = length && length <= SUSPEND_ADDRESS_MAX ? malloc(length) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, a->bytes, length);
	*ret_length = length;
	return copy;
}
