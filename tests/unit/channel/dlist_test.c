// SPDX-License-Identifier: BSD-3-Clause
/* dlist: order, leaving twice, splicing. */
#include "pmcore/channel/dlist.h"
#include "tests/harness/tap.h"

TAP_TEST(dlist__order)
{
	struct dlist head, a, b, c;

	dlist_init(&head);
	ok(dlist_is_empty(&head));
	dlist_add_tail(&head, &b);
	dlist_add_tail(&head, &c);
	dlist_add_head(&head, &a);
	ok(head.next == &a && a.next == &b && b.next == &c && c.next == &head);
	ok(head.prev == &c && c.prev == &b && b.prev == &a && a.prev == &head);
	dlist_del(&b);
	dlist_del(&b);
	ok(a.next == &c && c.prev == &a);
	ok(dlist_is_empty(&b));
}

TAP_TEST(dlist_splice_tail__empty_and_full)
{
	struct dlist to, from, a, b;

	dlist_init(&to);
	dlist_init(&from);
	dlist_splice_tail(&to, &from);
	ok(dlist_is_empty(&to));
	dlist_add_tail(&to, &a);
	dlist_add_tail(&from, &b);
	dlist_splice_tail(&to, &from);
	ok(dlist_is_empty(&from));
	ok(to.next == &a && a.next == &b && b.next == &to && to.prev == &b && b.prev == &a);
}
