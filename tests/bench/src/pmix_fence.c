// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmix_fence - what the start of an MPI program asks of its launcher, and nothing else. Each rank
 * puts some bytes, all meet in a fence that carries them, and each asks for those of another rank.
 * Rank 0 prints one JSON line.
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "bench.card"
#define CARD_BYTES 64

static void must(pmix_status_t status, const char *what)
{
	if (status == PMIX_SUCCESS)
		return;
	fprintf(stderr, "pmix_fence: %s: %s\n", what, PMIx_Error_string(status));
	exit(1);
}

static uint32_t job_size(const pmix_proc_t *self)
{
	pmix_proc_t job = *self;
	pmix_value_t *value = NULL;
	uint32_t size;

	job.rank = PMIX_RANK_WILDCARD;
	must(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "size of the job");
	size = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return size;
}

static void put_card(const pmix_proc_t *self)
{
	char card[CARD_BYTES];
	pmix_value_t value = {.type = PMIX_STRING};

	snprintf(card, sizeof(card), "rank %u", self->rank);
	value.data.string = card;
	must(PMIx_Put(PMIX_GLOBAL, KEY, &value), "put");
	must(PMIx_Commit(), "commit");
}

static void get_card(const pmix_proc_t *self, uint32_t rank)
{
	pmix_proc_t other = *self;
	pmix_value_t *value = NULL;
	char want[CARD_BYTES];

	other.rank = rank;
	must(PMIx_Get(&other, KEY, NULL, 0, &value), "get");
	snprintf(want, sizeof(want), "rank %u", rank);
	if (value->type != PMIX_STRING || strcmp(value->data.string, want) != 0) {
		fprintf(stderr, "pmix_fence: wrong data of rank %u\n", rank);
		exit(1);
	}
	PMIX_VALUE_RELEASE(value);
}

int main(void)
{
	pmix_proc_t self;
	pmix_info_t collect;
	bool yes = true;
	uint32_t size;

	must(PMIx_Init(&self, NULL, 0), "init");
	size = job_size(&self);
	put_card(&self);
	PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
	must(PMIx_Fence(NULL, 0, &collect, 1), "fence");
	PMIX_INFO_DESTRUCT(&collect);
	get_card(&self, (self.rank + size / 2) % size);
	if (self.rank == 0)
		printf("{\"ranks\": %u}\n", size);
	must(PMIx_Finalize(NULL, 0), "finalize");
	return 0;
}
