// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/memory.h"

#include <limits.h>
#include <stdio.h>

#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/limit.h"

#define MIB (1024. * 1024)

uint64_t memory_of(uint64_t asked, uint32_t ranks, uint64_t total, uint32_t share)
{
	uint64_t most = total / 100 * share;

	if (!asked)
		return most;
	return asked <= most / ranks ? asked * ranks : 0;
}

void memory_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = {"MiB", "GiB", "TiB"};
	double n = (double)bytes / MIB;
	size_t unit = 0;

	for (; n >= 1024 && unit < 2; unit++)
		n /= 1024;
	snprintf(text, size, "%.4g %s", n, units[unit]);
}

static uint32_t ranks_here(const struct step *step)
{
	return step->order->hosts[step->order->here].ranks;
}

uint64_t memory_bound(const struct step *step)
{
	const struct scnoded *d = step->daemon;
	uint32_t share = d->options.memory_share;
	uint64_t bytes =
		memory_of(step->order->job->memory, ranks_here(step), cores_memory(), share);

	if (d->form == CGROUP_NONE || !cgroup_can_limit_memory(d->form, d->options.cgroup))
		return 0;
	/* One that asks for more than that is refused by memory_hold(). */
	return bytes ? bytes : memory_of(0, 1, cores_memory(), share);
}

char *memory_hold(struct step *step)
{
	const struct scnoded *d = step->daemon;
	uint64_t asked = step->order->job->memory, total = cores_memory();
	uint32_t ranks = ranks_here(step);
	uint64_t bytes = memory_of(asked, ranks, total, d->options.memory_share);
	char each[32], most[32];

	if (!bytes) {
		memory_text(asked, each, sizeof(each));
		memory_text(memory_of(0, ranks, total, d->options.memory_share), most,
			    sizeof(most));
		return daemon_text(
			"host %s: --memory: %u ranks with %s each want more than the %s that "
			"a job may have there; ask for less, or for more hosts",
			d->name, ranks, each, most);
	}
	if (!cgroup_limit_memory(step->group, bytes))
		step->memory = bytes;
	else if (asked)
		return daemon_text(
			"host %s: --memory: there is no cgroup controller memory that its "
			"scnoded may use; leave out --memory, or choose other hosts",
			d->name);
	/* Else main() has said so. */
	return NULL;
}

bool memory_is_exceeded(const struct step *step)
{
	char path[PATH_MAX];

	return step->memory && step->group &&
	       cgroup_memory_kills(step->group, path, sizeof(path)) && limit_kills(path);
}

char *memory_complaint(const struct step *step)
{
	const struct scnoded *d = step->daemon;
	uint64_t asked = step->order->job->memory;
	uint32_t ranks = ranks_here(step);
	char all[32], each[32];

	memory_text(step->memory, all, sizeof(all));
	memory_text(asked, each, sizeof(each));
	if (asked)
		return daemon_text(
			"host %s: the job wanted more than its %s of memory there (--memory %s for "
			"%s%u rank%s); ask for more with --memory",
			d->name, all, each, ranks > 1 ? "each of " : "", ranks,
			ranks > 1 ? "s" : "");
	return daemon_text(
		"host %s: the job wanted more than its %s of memory there, %u %% of the host's "
		"(scnoded --memory); spread it over more hosts with --nodes",
		d->name, all, d->options.memory_share);
}
