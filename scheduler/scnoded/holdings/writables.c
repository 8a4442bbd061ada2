// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/writables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool is_open_for_writing(const struct held_file *file)
{
	return S_ISREG(file->mode) && (file->flags & O_ACCMODE) != O_RDONLY && file->links &&
	       file->is_mounted && *file->name == '/';
}

static bool is_mapped_for_writing(const struct held_mapping *m)
{
	return S_ISREG(m->mode) && m->is_shared_writable && m->links && *m->name == '/';
}

static struct writable of_file(const struct holdings *h, const struct held_file *file)
{
	return (struct writable){.path = file->name,
				 .device = file->device,
				 .inode = file->inode,
				 .size = file->size,
				 .offset = file->offset,
				 .is_append = file->flags & O_APPEND,
				 .pid = h->processes[file->process].pid,
				 .rank = h->processes[file->process].rank};
}

static struct writable of_mapping(const struct holdings *h, const struct held_mapping *m)
{
	return (struct writable){.path = m->name,
				 .device = m->device,
				 .inode = m->inode,
				 .size = m->size,
				 .is_mapped = true,
				 .pid = h->processes[m->process].pid,
				 .rank = h->processes[m->process].rank};
}

static size_t list_all(const struct holdings *h, struct writable *list)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_files; i++)
		if (is_open_for_writing(&h->files[i]))
			list[n++] = of_file(h, &h->files[i]);
	for (size_t i = 0; i < h->n_mappings; i++)
		if (is_mapped_for_writing(&h->mappings[i]))
			list[n++] = of_mapping(h, &h->mappings[i]);
	return n;
}

static int compare(const void *a, const void *b)
{
	const struct writable *left = a, *right = b;

	if (left->device != right->device)
		return left->device < right->device ? -1 : 1;
	return (left->inode > right->inode) - (left->inode < right->inode);
}

/* The size may have grown between two looks: the last one counts, which is the larger one. */
static void join(struct writable *to, const struct writable *from)
{
	to->size = from->size > to->size ? from->size : to->size;
	to->offset = from->offset > to->offset ? from->offset : to->offset;
	to->is_append |= from->is_append;
	to->is_mapped |= from->is_mapped;
}

ssize_t writables_list(const struct holdings *h, struct writable **ret)
{
	struct writable *list = calloc(h->n_files + h->n_mappings + 1, sizeof(*list));
	size_t n, n_files = 0;

	if (!list)
		return -ENOMEM;
	n = list_all(h, list);
	if (n)
		qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < n; i++) {
		if (n_files && !compare(&list[n_files - 1], &list[i]))
			join(&list[n_files - 1], &list[i]);
		else
			list[n_files++] = list[i];
	}
	*ret = list;
	return (ssize_t)n_files;
}
