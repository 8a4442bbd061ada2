// SPDX-License-Identifier: BSD-3-Clause
/*
 * bind - cores are counted over those of hwloc's topology that the list leaves; ranks take
 * job.cores of them one after another, and when there are not enough, all share all.
 */
#include "scheduler/scstepd/bind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bind {
	hwloc_topology_t topology;
	hwloc_bitmap_t own;    /* of this process */
	hwloc_bitmap_t all;    /* of the job on this host */
	hwloc_bitmap_t *slots; /* of each rank; all of them if is_shared */
	uint32_t n_slots;
	enum job_bind how;
};

/* A machine that shows no cores (some virtual ones) has processing units. */
static hwloc_obj_type_t core_type(hwloc_topology_t topology)
{
	return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE
								      : HWLOC_OBJ_PU;
}

/* The sets of the job's cores, one by one, in the order in which scnoded lists them. */
static hwloc_bitmap_t *list_cores(struct bind *bind, const char *cpus, hwloc_const_bitmap_t allowed,
				  uint32_t *ret_n)
{
	hwloc_bitmap_t *cores = calloc(strlen(cpus) + 1, sizeof(*cores));
	char *end;
	uint32_t n = 0;

	for (const char *at = cpus; cores && *at; at = *end == ',' ? end + 1 : end) {
		unsigned long cpu = strtoul(at, &end, 10);

		if (end == at)
			break;
		if (cpu > INT_MAX || !hwloc_bitmap_isset(allowed, (unsigned int)cpu))
			continue;
		cores[n] = hwloc_bitmap_alloc();
		if (!cores[n])
			break;
		hwloc_bitmap_only(cores[n], (unsigned int)cpu);
		hwloc_bitmap_or(bind->all, bind->all, cores[n]);
		n++;
	}
	*ret_n = n;
	return cores;
}

static int fill_slots(struct bind *bind, const struct order_host *host, uint32_t each,
		      const char *cpus, hwloc_const_bitmap_t allowed)
{
	uint32_t n = 0;
	hwloc_bitmap_t *cores = list_cores(bind, cpus, allowed, &n);
	int rc = cores ? 0 : -ENOMEM;

	if (hwloc_bitmap_iszero(bind->all))
		hwloc_bitmap_copy(bind->all, allowed);
	if (bind->how == JOB_BIND_CORE && each && n / each >= host->ranks)
		bind->n_slots = n / each;
	bind->slots = rc ? NULL : calloc(bind->n_slots + 1, sizeof(*bind->slots));
	if (!bind->slots)
		rc = -ENOMEM;
	for (uint32_t i = 0; !rc && i < bind->n_slots; i++) {
		bind->slots[i] = hwloc_bitmap_alloc();
		if (!bind->slots[i]) {
			rc = -ENOMEM;
			break;
		}
		for (uint32_t k = 0; k < each; k++)
			hwloc_bitmap_or(bind->slots[i], bind->slots[i], cores[i * each + k]);
	}
	for (uint32_t i = 0; i < n; i++)
		hwloc_bitmap_free(cores[i]);
	free(cores);
	return rc;
}

static int load(struct bind *bind)
{
	if (hwloc_topology_init(&bind->topology))
		return -ENOMEM;
	if (hwloc_topology_load(bind->topology)) {
		int error = errno;

		hwloc_topology_destroy(bind->topology);
		bind->topology = NULL;
		return -error;
	}
	return 0;
}

/* The cpus that scnoded left to us. */
static hwloc_bitmap_t own_set(hwloc_topology_t topology)
{
	hwloc_const_bitmap_t machine = hwloc_topology_get_allowed_cpuset(topology);
	hwloc_bitmap_t own = hwloc_bitmap_alloc();

	if (!own)
		return NULL;
	if (hwloc_get_cpubind(topology, own, HWLOC_CPUBIND_PROCESS))
		hwloc_bitmap_copy(own, machine);
	hwloc_bitmap_and(own, own, machine);
	return own;
}

struct bind *bind_open(const struct order *order, const char *cpus, char *why, size_t why_size)
{
	const struct order_host *host = &order->hosts[order->here];
	struct bind *bind = calloc(1, sizeof(*bind));
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	int rc = bind && allowed ? load(bind) : -ENOMEM;

	if (!rc) {
		/* No list: a host that pretends to have its cores. */
		bind->how = *cpus ? order->job->bind : JOB_BIND_NONE;
		bind->all = hwloc_bitmap_alloc();
		bind->own = own_set(bind->topology);
		rc = bind->all && bind->own ? 0 : -ENOMEM;
	}
	if (!rc) {
		if (!*cpus || hwloc_bitmap_list_sscanf(allowed, cpus))
			hwloc_bitmap_copy(allowed, bind->own);
		hwloc_bitmap_and(allowed, allowed, bind->own);
		if (hwloc_bitmap_iszero(allowed)) {
			snprintf(why, why_size,
				 "host %s: none of the cpus %s may be used by its scnoded; "
				 "restart it there",
				 host->name, cpus);
			rc = -EPERM;
		} else {
			rc = fill_slots(bind, host, order->job->cores, cpus, allowed);
		}
	}
	hwloc_bitmap_free(allowed);
	if (!rc)
		return bind;
	if (rc != -EPERM)
		snprintf(why, why_size, "host %s: its cores are not known: %s", host->name,
			 strerror(-rc));
	bind_close(bind);
	errno = -rc;
	return NULL;
}

void bind_close(struct bind *bind)
{
	if (!bind)
		return;
	for (uint32_t i = 0; bind->slots && i < bind->n_slots; i++)
		hwloc_bitmap_free(bind->slots[i]);
	free(bind->slots);
	hwloc_bitmap_free(bind->all);
	hwloc_bitmap_free(bind->own);
	if (bind->topology)
		hwloc_topology_destroy(bind->topology);
	free(bind);
}

hwloc_topology_t bind_topology(const struct bind *bind)
{
	return bind->topology;
}

hwloc_const_cpuset_t bind_set(const struct bind *bind, uint32_t slot)
{
	if (bind->how == JOB_BIND_NONE)
		return bind->own;
	return slot < bind->n_slots ? bind->slots[slot] : bind->all;
}

int bind_mask(const struct bind *bind, uint32_t slot, unsigned long **ret)
{
	hwloc_const_cpuset_t set = bind_set(bind, slot);
	int n = hwloc_bitmap_nr_ulongs(set);
	unsigned long *mask;

	if (n < 1)
		return -EINVAL;
	mask = calloc((size_t)n, sizeof(*mask));
	if (!mask)
		return -ENOMEM;
	hwloc_bitmap_to_ulongs(set, (unsigned)n, mask);
	*ret = mask;
	return n * (int)sizeof(*mask);
}

char *bind_text(const struct bind *bind, uint32_t slot)
{
	hwloc_const_cpuset_t set = bind_set(bind, slot);
	hwloc_obj_type_t type = core_type(bind->topology);
	hwloc_bitmap_t cores = hwloc_bitmap_alloc();
	char *cpu_list = NULL, *core_list = NULL, *text = NULL;
	hwloc_obj_t core = NULL;

	while (cores && (core = hwloc_get_next_obj_by_type(bind->topology, type, core)))
		if (hwloc_bitmap_intersects(core->cpuset, set))
			hwloc_bitmap_set(cores, core->logical_index);
	if (cores && hwloc_bitmap_list_asprintf(&cpu_list, set) >= 0 &&
	    hwloc_bitmap_list_asprintf(&core_list, cores) >= 0 &&
	    asprintf(&text,
		     bind->how == JOB_BIND_NONE ? "not bound (core %s, cpu %s)"
						: "core %s (cpu %s)",
		     core_list, cpu_list) < 0)
		text = NULL;
	hwloc_bitmap_free(cores);
	free(cpu_list);
	free(core_list);
	return text;
}
