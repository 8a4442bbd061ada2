// SPDX-License-Identifier: BSD-3-Clause
/*
 * transport - names of Open MPI's components stand in the data; the tree brings a host's word
 * before its part of the fence.
 */
#include "scheduler/scstepd/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/env.h"
#include "scheduler/scstepd/rankenv.h"

#define NAMES_MAX 8 /* hosts in the line */

static bool has_looked;
static bool *is_without; /* [host], at the leader */
static bool is_said;

static bool has(const void *data, size_t size, const char *word)
{
	return memmem(data, size, word, strlen(word)) != NULL;
}

/* Of a list of components; "^..." names those that are left out. */
static bool names_pm(const char *list)
{
	size_t n;

	if (!list || *list == '^')
		return false;
	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == 2 && !strncmp(list, "pm", n))
			return true;
	}
	return false;
}

static bool wants_pm(const struct step *step)
{
	const struct job *job = step->order->job;
	bool wants = false;

	for (size_t i = 0; !wants && i < job->n_apps; i++) {
		struct env env = {0};

		wants = !rankenv_app(step, worlds_get(&step->worlds, 0), &job->apps[i], &env) &&
			names_pm(env_get(&env, "OMPI_MCA_mtl"));
		env_fini(&env);
	}
	return wants;
}

void transport_look(struct step *step, const void *data, size_t size)
{
	bool has_pm, is_open_mpi;

	if (has_looked || !size)
		return;
	has_pm = has(data, size, "mtl.pm.");
	is_open_mpi = has_pm || has(data, size, "btl.") || has(data, size, "pml.base");
	has_looked = is_open_mpi;
	if (is_open_mpi && !has_pm && wants_pm(step))
		step_send(step, 0, json_pack("{s:s}", "op", OP_WITHOUT_PM), NULL, 0);
}

void transport_told(const struct step *step, size_t host)
{
	if (!is_without)
		is_without = calloc(step->order->n_hosts, sizeof(*is_without));
	if (is_without)
		is_without[host] = true;
}

static void put_names(const struct order *order, size_t n, FILE *out)
{
	size_t named = 0;

	fprintf(out, n > 1 ? "hosts " : "host ");
	for (size_t i = 0; i < order->n_hosts && named < NAMES_MAX; i++)
		if (is_without[i])
			fprintf(out, "%s%s", named++ ? ", " : "", order->hosts[i].name);
	if (n > named)
		fprintf(out, " and %zu more", n - named);
}

char *transport_line(const struct step *step)
{
	size_t n = 0, size;
	char *line = NULL;
	FILE *out;

	if (!is_without || is_said)
		return NULL;
	for (size_t i = 0; i < step->order->n_hosts; i++)
		n += is_without[i];
	out = open_memstream(&line, &size);
	if (!out)
		return NULL;
	put_names(step->order, n, out);
	fprintf(out,
		": Open MPI has no mtl/pm there, or cannot use it, and takes another transport%s; "
		"install "
		"the component there, or choose for all hosts (-x OMPI_MCA_pml=ob1)",
		n < step->order->n_hosts ? " than on the other hosts, which fails" : "");
	if (fclose(out)) {
		free(line);
		return NULL;
	}
	is_said = true;
	return line;
}

void transport_close(void)
{
	free(is_without);
	is_without = NULL;
	has_looked = is_said = false;
}
