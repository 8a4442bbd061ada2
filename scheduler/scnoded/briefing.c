// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/briefing.h"

#include <limits.h>
#include <stdlib.h>

#include "scheduler/scnoded/cgroup.h"
#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/memory.h"

void briefing_add(const struct step *step, json_t *head)
{
	const struct order *order = step->order;
	const struct order_host *host = &order->hosts[order->here];
	char *cpus = cores_list(step->daemon->cores, host->cores, host->n_cores);
	char path[PATH_MAX], *text;

	json_object_set_new(head, "order", order_encode(order, order->here));
	json_object_set_new(head, "host",
			    json_pack("{s:s, s:s, s:s}", "name", step->daemon->name, "cpus",
				      cpus ? cpus : "", "tmpdir", step->tmp));
	if (step->memory && cgroup_memory_kills(step->group, path, sizeof(path))) {
		text = memory_complaint(step);
		json_object_set_new(head, "memory",
				    json_pack("{s:s, s:s}", "kills", path, "text", text));
		free(text);
	}
	free(cpus);
}
