// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/letters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void letters_init(struct letters *letters)
{
	*letters = (struct letters){.last = &letters->first};
}

int letters_keep(struct letters *letters, int64_t to, json_t *head, const void *body, size_t size)
{
	struct letter *letter = malloc(sizeof(*letter) + size + 1);

	if (!letter) {
		json_decref(head);
		return -ENOMEM;
	}
	*letter = (struct letter){.head = head, .to = to, .size = size};
	if (size)
		memcpy(letter->body, body, size);
	letter->body[size] = '\0';
	*letters->last = letter;
	letters->last = &letter->next;
	return 0;
}

struct letter *letters_take(struct letters *letters)
{
	struct letter *letter = letters->first;

	if (!letter)
		return NULL;
	letters->first = letter->next;
	if (!letters->first)
		letters->last = &letters->first;
	return letter;
}

void letters_free(struct letter *letter)
{
	json_decref(letter->head);
	free(letter);
}

void letters_drop(struct letters *letters)
{
	struct letter *letter;

	while ((letter = letters_take(letters)))
		letters_free(letter);
}
