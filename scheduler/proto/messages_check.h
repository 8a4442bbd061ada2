/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * messages_check - compares a message with the table, where it is received: the one place that
 * tells which fields are there, of which type and in which bounds. Knows nothing of objects and
 * lists inside a field, which have decode functions of their own, and of the body.
 */
#ifndef SCHEDULER_PROTO_MESSAGES_CHECK_H
#define SCHEDULER_PROTO_MESSAGES_CHECK_H

#include <jansson.h>
#include <stddef.h>

#include "scheduler/proto/messages.h"

/*
 * The op of @head, which came by @link, if all fields are as the table says; others are ignored.
 * -ENOTSUP: the op is none of this link. -EINVAL: a field is wrong. Then @why is a sentence that
 * names the op and the field.
 */
int messages_check(enum messages_link link, const json_t *head, char *why, size_t why_size);

#endif
