// SPDX-License-Identifier: BSD-3-Clause
/* Tests of device/composite_state.c on a composite of the device self. */
#include <errno.h>
#include <string.h>

#include "pmcore/device/composite.h"
#include "tests/harness/tap.h"

#define NODE 5
#define SECTION (CONF_NAME_MAX + 4)

static struct composite *begin(void)
{
	struct pmOptions options = {
		.size = sizeof(options), .self = NODE, .config = "devices=self"};
	struct composite *c = NULL;
	char why[COMPOSITE_WHY];

	okf(!composite_open(&options, NULL, &c, why, sizeof(why)), "%s", why);
	return c;
}

static int put(struct composite *c, const char *text)
{
	struct composite_node *n;
	int err = composite_node(c, NODE, &n);

	return err ? err : n->ops->post(n->link, n->peer, text, (uint32_t)strlen(text));
}

static void expect(struct composite *c, const char *text)
{
	struct composite_inbound in;

	if (!is_int(composite_poll(c, &in), 1))
		return;
	is_int(in.in.len, strlen(text));
	is_mem(in.in.buf, text, strlen(text));
	c->slots[in.slot].ops.release(c->slots[in.slot].link, in.in.cookie);
}

static bool is_empty(struct composite *c)
{
	struct composite_inbound in;

	return composite_poll(c, &in) == 0;
}

/* Appends a link's section to a saved form. */
static size_t add_section(uint8_t *blob, size_t at, const char *name, const void *bytes,
			  uint32_t len)
{
	memset(blob + at, 0, CONF_NAME_MAX);
	memcpy(blob + at, name, strlen(name));
	memcpy(blob + at + CONF_NAME_MAX, &len, sizeof(len));
	memcpy(blob + at + SECTION, bytes, len);
	++*blob;
	return at + SECTION + len;
}

TAP_TEST(composite_quiesce__stops_until_resume)
{
	struct composite *c = begin();

	must(c);
	is_int(composite_quiesce(c), 0);
	is_int(put(c, "no"), -EAGAIN);
	composite_resume(c);
	is_int(put(c, "yes"), 0);
	expect(c, "yes");
	composite_close(c);
}

TAP_TEST(composite_save__room_too_small)
{
	struct composite *c = begin();
	uint8_t blob[64];
	int need;

	must(c);
	is_int(put(c, "hello"), 0);
	need = composite_save(c, NULL, 0);
	is_int(need, 4 + SECTION + 4 + 5);
	for (size_t room = 0; room < (size_t)need; room++) {
		memset(blob, 0x55, sizeof(blob));
		is_int(composite_save(c, blob, room), need);
		is_int(blob[room], 0x55);
	}
	composite_close(c);
}

TAP_TEST(composite_restore__what_was_saved)
{
	struct composite *c = begin(), *again = begin();
	uint8_t blob[128];
	int len;

	must(c && again);
	is_int(put(c, "hello"), 0);
	is_int(put(c, "again"), 0);
	len = composite_save(c, blob, sizeof(blob));
	must(len > 0);
	is_int(composite_restore(again, blob, (size_t)len), 0);
	expect(again, "hello");
	expect(again, "again");
	ok(is_empty(again));
	composite_close(c);
	composite_close(again);
}

TAP_TEST(composite_restore__link_that_is_not_open)
{
	const uint8_t message[] = {1, 0, 0, 0, 'x'};
	struct composite *c = begin();
	uint8_t blob[128] = {0};
	size_t len;

	must(c);
	/* nothing in it: the new context does without that link */
	len = add_section(blob, 4, "self", message, sizeof(message));
	len = add_section(blob, len, "udp", "", 0);
	is_int(composite_restore(c, blob, len), 0);
	expect(c, "x");
	memset(blob, 0, sizeof(blob));
	len = add_section(blob, 4, "self", message, sizeof(message));
	len = add_section(blob, len, "udp", "state", 5);
	is_int(composite_restore(c, blob, len), -EINVAL);
	ok(is_empty(c));
	composite_close(c);
}

/* The message in the good section before the damage must not arrive. */
TAP_TEST(composite_restore__damaged_behind_a_good_section)
{
	const uint8_t message[] = {1, 0, 0, 0, 'x'};
	struct composite *c = begin();
	uint8_t blob[128] = {0};
	size_t len;

	must(c);
	len = add_section(blob, 4, "self", message, sizeof(message));
	is_int(composite_restore(c, blob, len + 1), -EINVAL);
	is_int(composite_restore(c, blob, len - 1), -EINVAL);
	is_int(composite_restore(c, blob, 3), -EINVAL);
	blob[0] = 2; /* one more than there are */
	is_int(composite_restore(c, blob, len), -EINVAL);
	blob[0] = 255;
	is_int(composite_restore(c, blob, len), -EINVAL);
	blob[0] = 1;
	len = add_section(blob, len, "self", message, sizeof(message));
	is_int(composite_restore(c, blob, len), -EINVAL);
	ok(is_empty(c));
	composite_close(c);
}
