// SPDX-License-Identifier: BSD-3-Clause
/*
 * An epoll goes on watching a file whose descriptor was closed, as long as somebody has it, for
 * instance a child. CRIU adds descriptors by number, and looks for each in the first process that
 * has the epoll: one of the process's ancestors or itself.
 */
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/survey_inside.h"

#define ANCESTORS_MAX 64     /* that are asked */
#define QUESTIONS_MAX 500000 /* to the kernel, whose answer takes longer for a large epoll */

/* Orders the files of a process, and in it those of one inode together, by number. */
static int compare(const void *a, const void *b)
{
	const struct held_file *const *left = a, *const *right = b;

	if ((*left)->process != (*right)->process)
		return (*left)->process < (*right)->process ? -1 : 1;
	if ((*left)->device != (*right)->device)
		return (*left)->device < (*right)->device ? -1 : 1;
	if ((*left)->inode != (*right)->inode)
		return (*left)->inode < (*right)->inode ? -1 : 1;
	return ((*left)->fd > (*right)->fd) - ((*left)->fd < (*right)->fd);
}

struct order {
	struct survey *survey;
	struct holdings *h;
	const struct held_file **files;
	size_t n_questions;
};

/* The first file that is not before @key. */
static size_t find(const struct order *order, const struct held_file *key)
{
	size_t low = 0, high = order->h->n_files;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&order->files[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Whether it is the very file, as the two ends of a pipe have one inode. If the kernel does not
 * tell, that is enough.
 */
static bool is_watched(struct order *order, const struct held_file *file,
		       const struct held_watch *watch)
{
	const struct held_process *processes = order->h->processes;
	struct kcmp_epoll_slot slot = {
		.efd = (__u32)watch->fd, .tfd = (__u32)watch->target, .toff = watch->nth};

	if (++order->n_questions > QUESTIONS_MAX)
		holdings_trouble(order->h,
				 "its epolls watch too many descriptors with copies; close some");
	if (!survey_goes_on(order->survey))
		return false;
	return syscall(SYS_kcmp, processes[file->process].pid, processes[watch->process].pid,
		       KCMP_EPOLL_TFD, file->fd, &slot) <= 0;
}

/*
 * Of one process: the descriptor of the same number first, as it mostly is this one. It may also
 * have been closed, and its number given to another one.
 */
static bool has_target(struct order *order, size_t process, const struct held_watch *watch)
{
	struct held_file key = {.process = process,
				.fd = watch->target,
				.device = watch->device,
				.inode = watch->inode};
	const struct held_file *at = &key;
	size_t n = order->h->n_files, i = find(order, &key);

	if (i < n && !compare(&order->files[i], &at) && is_watched(order, order->files[i], watch))
		return true;
	key.fd = -1;
	for (i = find(order, &key); i < n && survey_goes_on(order->survey); i++) {
		const struct held_file *file = order->files[i];

		if (file->process != process || file->device != watch->device ||
		    file->inode != watch->inode)
			break;
		if (file->fd != watch->target && is_watched(order, file, watch))
			return true;
	}
	return false;
}

static bool is_held(struct order *order, const struct held_watch *watch)
{
	size_t process = watch->process;

	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (has_target(order, process, watch))
			return true;
		if (!process)
			return false;
		process = order->h->processes[process].above;
	}
	return false;
}

void survey_watches(struct survey *s)
{
	struct holdings *h = s->holdings;
	struct order order = {
		.survey = s, .h = h, .files = calloc(h->n_files + 1, sizeof(*order.files))};

	if (!order.files)
		holdings_trouble(h,
				 "scnoded has no memory for a list of descriptors; " HOLDINGS_FREE);
	for (size_t i = 0; order.files && i < h->n_files; i++)
		order.files[i] = &h->files[i];
	if (order.files && h->n_files)
		qsort(order.files, h->n_files, sizeof(*order.files), compare);
	for (size_t i = 0; i < h->n_watches && survey_goes_on(s); i++)
		h->watches[i].is_held = is_held(&order, &h->watches[i]);
	free(order.files);
}
