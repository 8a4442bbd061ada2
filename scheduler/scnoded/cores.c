// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/cores.h"

#include <ctype.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/host.h"

struct cores {
	uint32_t n;
	bool is_pretended; /* no processor stands behind them */
	unsigned int *processor;
	unsigned long *mask; /* NULL: any */
	size_t mask_bytes;
};

static struct cores *make(uint32_t n)
{
	struct cores *c = calloc(1, sizeof(*c));

	if (c)
		c->processor = calloc(n ? n : 1, sizeof(*c->processor));
	if (!c || !c->processor) {
		free(c);
		return NULL;
	}
	c->n = n;
	return c;
}

/* "Nx" */
static struct cores *pretend(const char *request)
{
	char *end;
	unsigned long n = strtoul(request, &end, 10);
	struct cores *c;

	if (!isdigit((unsigned char)request[0]) || strcmp(end, "x") != 0 || n < 1 ||
	    n > HOST_CORES_MAX)
		return NULL;
	c = make((uint32_t)n);
	if (c)
		c->is_pretended = true;
	return c;
}

/* The first allowed thread of each physical core, in hwloc's order. */
static struct cores *find(hwloc_topology_t topology, hwloc_const_cpuset_t allowed)
{
	int total = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
	hwloc_obj_type_t type = total > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
	hwloc_cpuset_t left = hwloc_bitmap_alloc();
	struct cores *c = make((uint32_t)hwloc_get_nbobjs_by_type(topology, type));

	if (!c || !left) {
		free(c);
		hwloc_bitmap_free(left);
		return NULL;
	}
	total = (int)c->n;
	c->n = 0;
	for (int i = 0; i < total; i++) {
		hwloc_bitmap_and(left,
				 hwloc_get_obj_by_type(topology, type, (unsigned int)i)->cpuset,
				 allowed);
		if (!hwloc_bitmap_iszero(left))
			c->processor[c->n++] = (unsigned int)hwloc_bitmap_first(left);
	}
	hwloc_bitmap_free(left);
	return c;
}

static struct cores *keep_mask(struct cores *c, hwloc_const_cpuset_t allowed)
{
	int n = hwloc_bitmap_nr_ulongs(allowed);

	if (!c)
		return NULL;
	c->mask = n > 0 ? calloc((size_t)n, sizeof(*c->mask)) : NULL;
	if (!c->mask) {
		cores_close(c);
		return NULL;
	}
	hwloc_bitmap_to_ulongs(allowed, (unsigned int)n, c->mask);
	c->mask_bytes = (size_t)n * sizeof(*c->mask);
	return c;
}

/* The first sign behind a decimal number. NULL: it is none, or octal to hwloc, as "010" is. */
static const char *behind_number(const char *at)
{
	size_t n = strspn(at, "0123456789");

	return n && (at[0] != '0' || n == 1) ? at + n : NULL;
}

/*
 * Numbers, ranges, and "N-" at the end. hwloc takes more: of "1;2" it ignores the first number.
 */
static bool is_list_of_numbers(const char *request)
{
	const char *at = request;
	size_t n;

	do {
		at = behind_number(at);
		if (at && *at == '-' && at[1])
			at = behind_number(at + 1);
		else if (at && *at == '-')
			at++;
		if (!at)
			return false;
		n = strspn(at, ", ");
		at += n;
	} while (n);
	return !*at;
}

/*
 * The cpus that this process may run on, less those not in the request. False: the request is no
 * list.
 */
static bool restrict_to(hwloc_topology_t topology, hwloc_bitmap_t allowed, const char *request)
{
	hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
	bool is_list = !request ||
		       (is_list_of_numbers(request) && !hwloc_bitmap_list_sscanf(wanted, request));

	if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS))
		hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology));
	if (request && is_list)
		hwloc_bitmap_and(allowed, allowed, wanted);
	hwloc_bitmap_free(wanted);
	return is_list;
}

struct cores *cores_open(const char *request, char *why, size_t why_size)
{
	size_t length = request ? strlen(request) : 0;
	hwloc_topology_t topology;
	hwloc_bitmap_t allowed;
	struct cores *c = NULL;

	if (length && request[length - 1] == 'x') {
		c = pretend(request);
		if (!c)
			snprintf(why, why_size,
				 "--cores %s: wanted is a list of processors, or 1x to %dx",
				 request, HOST_CORES_MAX);
		return c;
	}
	if (hwloc_topology_init(&topology) || hwloc_topology_load(topology)) {
		snprintf(why, why_size, "hwloc cannot read the machine: %m");
		return NULL;
	}
	allowed = hwloc_bitmap_alloc();
	if (!restrict_to(topology, allowed, request))
		snprintf(why, why_size, "--cores %s: wanted is a list of processors such as 0-3,8",
			 request);
	else
		c = find(topology, allowed);
	if (c && !c->n) {
		snprintf(why, why_size,
			 "--cores %s: none of them is there and allowed to this process",
			 request ? request : "");
		cores_close(c);
		c = NULL;
	} else {
		c = keep_mask(c, allowed);
	}
	hwloc_bitmap_free(allowed);
	hwloc_topology_destroy(topology);
	return c;
}

void cores_close(struct cores *c)
{
	if (c) {
		free(c->processor);
		free(c->mask);
	}
	free(c);
}

uint32_t cores_count(const struct cores *c)
{
	return c->n;
}

char *cores_list(const struct cores *c, const uint32_t *numbers, size_t n)
{
	char *list = calloc(n * 12 + 1, 1), *at = list;

	if (!list || c->is_pretended)
		return list;
	for (size_t i = 0; i < n; i++)
		if (numbers[i] < c->n)
			at += sprintf(at, "%s%u", at == list ? "" : ",", c->processor[numbers[i]]);
	return list;
}

const unsigned long *cores_mask(const struct cores *c, size_t *bytes)
{
	*bytes = c->mask_bytes;
	return c->mask;
}

uint64_t cores_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t cores_memory_free(void)
{
	return (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
