// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scored/fake_cluster.h"

#include <stdio.h>

static char address[] = "10.0.0.1:7711", none[] = "none";

static void add_host(struct fake_cluster *f, uint32_t h, uint32_t cores)
{
	snprintf(f->names[h], sizeof(f->names[h]), "h%u", h);
	f->hosts[h] = (struct host){.name = f->names[h],
				    .address = address,
				    .version = none,
				    .kernel = none,
				    .cgroups = none,
				    .pm = none,
				    .n_cores = cores};
	f->nodes[h] = (struct node){.number = h,
				    .name = f->names[h],
				    .host = &f->hosts[h],
				    .link = (struct link *)f, /* only looked at for being there */
				    .state = NODE_UP};
	f->list[h] = &f->nodes[h];
	nameset_add(&f->d.node_names, f->names[h]);
	matrix_host(f->d.matrix, h, cores);
}

void fake_cluster_open(struct fake_cluster *f, uint32_t hosts, uint32_t cores, uint32_t rows)
{
	*f = (struct fake_cluster){0};
	TAILQ_INIT(&f->d.jobs);
	f->d.matrix = matrix_new(rows);
	f->d.nodes = f->list;
	f->d.n_nodes = hosts;
	for (uint32_t h = 0; h < hosts; h++)
		add_host(f, h, cores);
}

void fake_cluster_close(struct fake_cluster *f)
{
	matrix_free(f->d.matrix);
	nameset_fini(&f->d.node_names);
}
