/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostlist - expands bracket ranges such as "n[000-063/2],io[1-2]" into names. Owns the grammar,
 * which configs/pmtopo/hostlist.py shares: tests/golden/hostlist.json feeds both. Knows nothing of
 * clusters: names are text.
 *
 *   list  = item { "," item }          blanks around items are ignored
 *   item  = { text | bracket }         text: letters, digits, "." "_" "-"; not empty
 *   bracket = "[" range { "," range } "]"
 *   range = number [ "-" number [ "/" step ] ]
 *
 * The last bracket of an item changes fastest. A number with a leading zero pads the range to its
 * width; both ends must have the same width then.
 */
#ifndef CLUSTER_HOSTLIST_H
#define CLUSTER_HOSTLIST_H

#include <stddef.h>

#define HOSTLIST_NAMES_MAX (1u << 20) /* names of one list */
#define HOSTLIST_NAME_MAX 255         /* characters of one name */
#define HOSTLIST_DIGITS_MAX 18        /* digits of one number */

/* An expanded list. */
struct hostlist {
	char **names; /* n pointers in the order of the list, duplicates kept; owned */
	size_t n;     /* names */
	char *text;   /* the bytes the names stand in; owned */
};

/*
 * Expands @text into *@ret. 0; -ENOMEM; -EINVAL with a sentence (place counted from character 1,
 * what is wrong, what to write) in @why. On failure *@ret is unchanged.
 */
int hostlist_expand(struct hostlist *ret, const char *text, char *why, size_t why_size);
/*
 * The same of a part of a longer text: @before characters stand before it, and count for the place.
 */
int hostlist_expand_part(struct hostlist *ret, const char *text, size_t before, char *why,
			 size_t why_size);
/* Frees what hostlist_expand gave; *@list is empty afterwards. An empty (zeroed) one is fine. */
void hostlist_fini(struct hostlist *list);

#endif
