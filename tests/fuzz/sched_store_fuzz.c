// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as host.json: what is let through leads out of no directory and comes out the same
 * twice; else a sentence, and nothing to be freed.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/store/hostfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_files(const struct hostfile *h)
{
	for (size_t i = 0; i < h->n_files; i++) {
		const char *name = h->files[i].name;

		require(name[0] && strlen(name) <= NAME_MAX && !strchr(name, '/'));
		require(strcmp(name, ".") && strcmp(name, "..") && strcmp(name, HOSTFILE_NAME));
		require(h->files[i].size <= INT64_MAX);
		for (size_t k = 0; k < i && i < 100; k++)
			require(strcmp(name, h->files[k].name));
	}
}

static void check(const struct hostfile *h)
{
	require(h->job && h->round && h->index < h->n_hosts && h->taken >= 0);
	require(h->host[0] && memchr(h->host, 0, sizeof(h->host)) && !strchr(h->host, '/'));
	require(h->kernel[0] && memchr(h->kernel, 0, sizeof(h->kernel)));
	require(h->criu[0] && memchr(h->criu, 0, sizeof(h->criu)));
	require(h->cpu_flags && json_is_object(h->order));
	for (size_t i = 0; i < h->n_writables; i++)
		require(h->writables[i].path[0] == '/' && strlen(h->writables[i].path) < PATH_MAX &&
			h->writables[i].size <= INT64_MAX);
	check_files(h);
}

static void check_again(const struct hostfile *h)
{
	json_t *first = hostfile_encode(h), *second;
	struct hostfile again;
	char why[128] = "";

	require(first != NULL);
	require(!hostfile_decode(&again, first, why, sizeof(why)));
	second = hostfile_encode(&again);
	require(second && json_equal(first, second));
	hostfile_fini(&again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hostfile empty;
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct hostfile h;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = hostfile_decode(&h, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EPROTO && why[0] && !memcmp(&h, &empty, sizeof(h)));
		return 0;
	}
	check(&h);
	check_again(&h);
	hostfile_fini(&h);
	return 0;
}
