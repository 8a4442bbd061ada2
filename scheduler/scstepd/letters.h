/* SPDX-License-Identifier: BSD-3-Clause */
/* letters - messages in the order in which they came, until somebody takes them. Pure. */
#ifndef SCHEDULER_SCSTEPD_LETTERS_H
#define SCHEDULER_SCSTEPD_LETTERS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct letter {
	struct letter *next;
	json_t *head;
	int64_t to;  /* as the caller counts */
	size_t size; /* of the body, behind which a zero stands */
	char body[];
};

struct letters {
	struct letter *first, **last;
};

void letters_init(struct letters *letters);
/* Takes the reference to @head. 0 or -ENOMEM. */
int letters_keep(struct letters *letters, int64_t to, json_t *head, const void *body, size_t size);
/* The first one, taken out, for letters_free(); NULL: none is there. */
struct letter *letters_take(struct letters *letters);
void letters_free(struct letter *letter);
void letters_drop(struct letters *letters);

#endif
