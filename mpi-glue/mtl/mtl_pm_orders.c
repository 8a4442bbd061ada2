// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_orders - the page of orders, mapped. */
#include "mpi-glue/mtl/mtl_pm_orders.h"
#include "mpi-glue/common/job.h"
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

/* The order word is a futex; this only bounds the wait for one that died after it wrote. */
#define AWAIT_NS 1000000000

_Static_assert(SUSPEND_ADDRESS_MAX == PM_ADDRESS_MAX, "an address of PM fits");

static const uint32_t no_order;

struct mtl_pm_orders mtl_pm_orders = {.word = &no_order};

static struct {
	struct suspend_page *page; /* NULL: nobody gives orders */
	size_t size;
	struct suspend_slot *slot;       /* ours */
	struct suspend_address *address; /* the first one */
	uint32_t n_nodes;                /* addresses that there is room for, as it was checked */
	bool is_revived;                 /* addresses from before are none any more */
	bool has_addresses;              /* the page has those of now */
} orders;

/* The file, and in *ret_slot our slot; NULL: nobody gives us orders. */
static const char *find_page(unsigned long *ret_slot)
{
	const char *text = getenv(SUSPEND_PAGE_VARIABLE);
	const char *nspace = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
	char *at, own[512];
	int length;

	if (!text || !nspace || !rank)
		return NULL;
	*ret_slot = strtoul(text, &at, 10);
	length = snprintf(own, sizeof(own), ":%s.%s:", nspace, rank);
	if (at == text || length >= (int)sizeof(own) || strncmp(at, own, (size_t)length))
		return NULL;
	return at + length;
}

static struct suspend_page *map_file(const char *path, size_t *ret_size)
{
	struct suspend_page *page = MAP_FAILED;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st))
		page = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return NULL;
	*ret_size = (size_t)st.st_size;
	if (suspend_page_check(page, *ret_size))
		return page;
	munmap(page, *ret_size);
	return NULL;
}

static bool is_taken(const struct suspend_slot *slot)
{
	return __atomic_load_n(&slot->presence, __ATOMIC_ACQUIRE) == SUSPEND_PRESENT;
}

/* False: no page, or not ours, or it can't be used, which the starter sees by the empty slot. */
static bool map(void)
{
	unsigned long slot;
	const char *path = find_page(&slot);
	size_t size;
	struct suspend_page *page = path ? map_file(path, &size) : NULL;

	if (!page)
		return false;
	if (slot >= page->n_slots || is_taken(suspend_page_slot(page, (uint32_t)slot))) {
		munmap(page, size);
		return false;
	}
	orders.page = page;
	orders.size = size;
	orders.slot = suspend_page_slot(page, (uint32_t)slot);
	orders.address = suspend_page_address(page, 0);
	orders.n_nodes = page->n_nodes;
	return true;
}

static void unmap(void)
{
	munmap(orders.page, orders.size);
	orders.page = NULL;
	orders.is_revived = orders.has_addresses = false;
}

static void sleep_on(const uint32_t *word, uint32_t value, long ns)
{
	const struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

/* A program that a rank has started has the rank's environment: the slot is not its own. */
static bool claim(void)
{
	uint32_t before = __atomic_load_n(&orders.slot->presence, __ATOMIC_ACQUIRE);

	return before != SUSPEND_PRESENT &&
	       __atomic_compare_exchange_n(&orders.slot->presence, &before, SUSPEND_PRESENT, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool mtl_pm_orders_await(void)
{
	uint32_t order;

	if (!orders.page && !map())
		return false;
	while (order = __atomic_load_n(&orders.page->order, __ATOMIC_ACQUIRE),
	       suspend_order_step(order) != SUSPEND_RUN)
		sleep_on(&orders.page->order, order, AWAIT_NS);
	orders.is_revived = orders.has_addresses = orders.page->n_known > 0;
	return orders.is_revived;
}

void mtl_pm_orders_open(void)
{
	pmNode self = 0;

	if (!orders.page && !map())
		return;
	(void)pmGetSelf(mtl_pm.ctx, &self);
	/* before it is there: the starter believes it then */
	if (__atomic_load_n(&orders.slot->presence, __ATOMIC_ACQUIRE) != SUSPEND_PRESENT)
		orders.slot->node = self;
	if (!claim()) {
		unmap();
		return;
	}
	mtl_pm_orders.seen = mtl_pm_orders.failed = 0;
	mtl_pm_orders.word = &orders.page->order;
}

void mtl_pm_orders_close(void)
{
	if (!orders.page)
		return;
	mtl_pm_orders.word = &no_order;
	mtl_pm_orders.seen = 0;
	__atomic_store_n(&orders.slot->presence, SUSPEND_GONE, __ATOMIC_RELEASE);
	unmap();
}

void mtl_pm_order_done(uint32_t order)
{
	__atomic_store_n(&orders.slot->done, order, __ATOMIC_RELEASE);
}

bool mtl_pm_order_failed(uint32_t order, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(orders.slot->why, sizeof(orders.slot->why), format, args);
	va_end(args);
	mtl_pm_orders.failed = order;
	__atomic_store_n(&orders.slot->failed, order, __ATOMIC_RELEASE);
	return false;
}

void mtl_pm_order_sleep(uint32_t order, long ns)
{
	sleep_on(mtl_pm_orders.word, order, ns);
}

uint64_t mtl_pm_order_devices(char config[MTL_PM_ORDER_CONFIG_MAX])
{
	const char *devices = orders.page->config;
	int n = (int)strnlen(devices, sizeof(orders.page->config) - 1);
	const char *ours =
		mtl_pm.options && !memmem(devices, (size_t)n, "shmem.", 6) ? mtl_pm.options : "";

	snprintf(config, MTL_PM_ORDER_CONFIG_MAX, "%s%s%.*s", ours, *ours && n ? "," : "", n,
		 devices);
	return orders.page->job_key;
}

void mtl_pm_order_tell_address(const char *address, size_t length)
{
	memcpy(orders.slot->address, address, length);
	orders.slot->address_length = (uint32_t)length;
}

void mtl_pm_order_forget_addresses(void)
{
	orders.is_revived = true;
	orders.has_addresses = false;
}

void mtl_pm_order_take_addresses(void)
{
	orders.has_addresses = true;
}

static uint32_t count(void)
{
	uint32_t n_known = __atomic_load_n(&orders.page->n_known, __ATOMIC_RELAXED);

	return n_known < orders.n_nodes ? n_known : orders.n_nodes;
}

/* The first one of that node or of a higher one; NULL: there is none. */
static const struct suspend_address *find_from(pmNode node)
{
	uint32_t n = count(), low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (orders.address[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n ? orders.address + low : NULL;
}

static bool is_world_known(pmNode node)
{
	const struct suspend_address *a = find_from(node - job_node_rank(node));

	return a && job_node_job(a->node) == job_node_job(node);
}

bool mtl_pm_order_has_changed_address(pmNode node)
{
	return orders.page && orders.is_revived && (!orders.has_addresses || is_world_known(node));
}

static const struct suspend_address *find(pmNode node)
{
	const struct suspend_address *a = find_from(node);

	return a && a->node == node ? a : NULL;
}

bool mtl_pm_order_knows(pmNode node)
{
	return orders.page && orders.has_addresses && find(node);
}

uint32_t mtl_pm_order_nodes(uint32_t *ret_own)
{
	const struct suspend_address *own = find_from(orders.slot->node);

	*ret_own = own ? (uint32_t)(own - orders.address) : 0;
	return count();
}

pmNode mtl_pm_order_node(uint32_t place)
{
	return orders.address[place].node;
}

void *mtl_pm_order_address(pmNode node, size_t *ret_length)
{
	const struct suspend_address *a = orders.page && orders.has_addresses ? find(node) : NULL;
	size_t length = a ? __atomic_load_n(&a->length, __ATOMIC_RELAXED) : 0;
	void *copy = length && length <= SUSPEND_ADDRESS_MAX ? malloc(length) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, a->bytes, length);
	*ret_length = length;
	return copy;
}
