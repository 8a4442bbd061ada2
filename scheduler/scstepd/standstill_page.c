// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/standstill_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int reserve(const struct standstill_page *p, size_t at, uint32_t *ready, uint32_t n,
		   uint32_t room, size_t size)
{
	int rc;

	if (n <= *ready)
		return 0;
	if (n > room)
		return -E2BIG;
	rc = posix_fallocate(p->fd, (off_t)at, (off_t)(n * size));
	if (!rc)
		*ready = n;
	return -rc;
}

int standstill_page_reserve_slots(struct standstill_page *p, uint32_t n)
{
	return reserve(p, sizeof(*p->mapped), &p->slots_ready, n, p->n_slots, sizeof(*p->slots));
}

int standstill_page_reserve_nodes(struct standstill_page *p, uint32_t n)
{
	return reserve(p, suspend_page_size(p->n_slots, 0), &p->nodes_ready, n, p->n_nodes,
		       sizeof(*p->addresses));
}

static int make(struct standstill_page *p, const char *path)
{
	int rc;

	p->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (p->fd < 0 || ftruncate(p->fd, (off_t)p->size))
		return -errno;
	rc = posix_fallocate(p->fd, 0, sizeof(*p->mapped));
	if (rc)
		return -rc;
	p->mapped = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->mapped != MAP_FAILED)
		return 0;
	p->mapped = NULL;
	return -errno;
}

int standstill_page_make(struct standstill_page *p, const char *path, uint32_t n_slots,
			 uint32_t n_nodes)
{
	int rc;

	*p = (struct standstill_page){.n_slots = n_slots,
				      .n_nodes = n_nodes,
				      .size = suspend_page_size(n_slots, n_nodes)};
	rc = make(p, path);
	if (rc) {
		standstill_page_drop(p);
		return rc;
	}
	p->mapped->n_slots = n_slots;
	p->mapped->n_nodes = n_nodes;
	p->slots = suspend_page_slot(p->mapped, 0);
	p->addresses = suspend_page_address(p->mapped, 0);
	p->mapped->magic = SUSPEND_PAGE_MAGIC;
	return 0;
}

void standstill_page_drop(struct standstill_page *p)
{
	if (p->mapped)
		munmap(p->mapped, p->size);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct standstill_page){.fd = -1};
}

void standstill_page_tell_devices(struct standstill_page *p, uint64_t job_key, const char *devices)
{
	p->mapped->job_key = job_key;
	snprintf(p->mapped->config, sizeof(p->mapped->config), "%s%s", *devices ? "devices=" : "",
		 devices);
}

static int by_node(const void *left, const void *right)
{
	const struct suspend_address *a = left, *b = right;

	return (a->node > b->node) - (a->node < b->node);
}

void standstill_page_tell_addresses(struct standstill_page *p, uint32_t n)
{
	qsort(p->addresses, n, sizeof(*p->addresses), by_node);
	p->mapped->n_known = n;
}

void standstill_page_give(struct standstill_page *p, enum suspend_step step)
{
	p->order = suspend_order_next(p->order, step);
	__atomic_store_n(&p->mapped->order, p->order, __ATOMIC_RELEASE);
	syscall(SYS_futex, &p->mapped->order, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
