// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/gang/queue.h"

#include <errno.h>

#include "tests/harness/tap.h"

TAP_TEST(queue__order)
{
	struct queue queue = {0};

	queue_push(&queue, 1, 0);
	queue_push(&queue, 2, 5);
	queue_push(&queue, 3, 0);
	is_int(queue_push(&queue, 3, 0), -EEXIST);
	is_int(queue_position(&queue, 2), 0);
	is_int(queue_position(&queue, 1), 1);
	is_int(queue_position(&queue, 3), 2);
	is_int(queue_open(&queue), 3);
	for (uint64_t id = 10; id < 10 + QUEUE_OVERTAKEN_MAX; id++) {
		queue_push(&queue, id, 9);
		is_int(queue_start(&queue, id), 0);
	}
	is_int(queue_open(&queue), 1);
	is_int(queue_position(&queue, 1), 0);
	is_int(queue_remove(&queue, 1), 0);
	is_int(queue_remove(&queue, 1), -ENOENT);
	is_int(queue_start(&queue, 1), -ENOENT);
	queue_fini(&queue);
}
