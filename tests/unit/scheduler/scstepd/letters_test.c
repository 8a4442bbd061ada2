// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/letters.h"

#include <string.h>

#include "tests/harness/tap.h"

static void keep(struct letters *letters, int64_t to, const char *body)
{
	is_int(letters_keep(letters, to, json_pack("{s:I}", "to", (json_int_t)to), body,
			    strlen(body)),
	       0);
}

/* The first one is as it was kept. */
static void take(struct letters *letters, int64_t to, const char *body)
{
	struct letter *letter = letters_take(letters);

	must(letter);
	is_int(letter->to, to);
	is_int(json_integer_value(json_object_get(letter->head, "to")), to);
	is_int((int64_t)letter->size, (int64_t)strlen(body));
	is_str(letter->body, body);
	letters_free(letter);
}

TAP_TEST(letters__in_order)
{
	struct letters letters;

	letters_init(&letters);
	ok(!letters_take(&letters));
	keep(&letters, 1, "first");
	keep(&letters, -1, "");
	take(&letters, 1, "first");
	keep(&letters, 3, "third");
	take(&letters, -1, "");
	take(&letters, 3, "third");
	ok(!letters_take(&letters));
	/* an empty list is as good as a new one */
	keep(&letters, 4, "fourth");
	take(&letters, 4, "fourth");
	ok(!letters.first);
}

TAP_TEST(letters_drop__all)
{
	json_t *head = json_object();
	struct letters letters;

	letters_init(&letters);
	for (int i = 0; i < 3; i++)
		letters_keep(&letters, i, json_incref(head), NULL, 0);
	is_int((int64_t)head->refcount, 4);
	letters_drop(&letters);
	is_int((int64_t)head->refcount, 1);
	ok(!letters.first && letters.last == &letters.first);
	keep(&letters, 5, "after");
	take(&letters, 5, "after");
	json_decref(head);
}
