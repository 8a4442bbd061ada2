// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/restorable.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "scheduler/scnoded/holdings/restorable_inside.h"

static bool list_inodes(struct judge *j)
{
	const struct holdings *h = j->holdings;

	for (size_t i = 0; i < h->n_files; i++)
		if (S_ISSOCK(h->files[i].mode) && !inodes_add(&j->held, h->files[i].inode))
			return false;
	inodes_sort(&j->held);
	return judge_list_ends(j);
}

static void judge_all(const struct judge *j)
{
	const struct holdings *h = j->holdings;

	judge_processes(j);
	for (size_t i = 0; i < h->n_files; i++)
		if (S_ISSOCK(h->files[i].mode))
			judge_socket(j, &h->files[i]);
		else
			judge_file(j, &h->files[i]);
	for (size_t i = 0; i < h->n_mappings; i++)
		judge_mapping(j, &h->mappings[i]);
	for (size_t i = 0; i < h->n_watches; i++)
		judge_watch(j, &h->watches[i]);
}

void restorable_judge(const struct holdings *h, const struct restorable_terms *terms,
		      struct refusals *ret)
{
	struct judge j = {.holdings = h, .terms = terms, .refusals = ret};

	if (*h->trouble)
		judge_refuse_part(&j, "can't be looked at before a checkpoint, as %s", h->trouble);
	else if (list_inodes(&j))
		judge_all(&j);
	else
		judge_refuse_part(&j, "can't be looked at before a checkpoint, as scnoded has no "
				      "memory left; free some there");
	inodes_free(&j.held);
	free(j.ends);
}
