// SPDX-License-Identifier: BSD-3-Clause
/*
 * composite_state - stopping, saving and restoring all links of a composite. The saved form: u32
 * count of links, then per link its name (CONF_NAME_MAX bytes), u32 length and bytes.
 */
#include <errno.h>
#include <string.h>

#include "pmcore/device/composite.h"
#include "pmcore/device/takeover.h"

#define SECTION (CONF_NAME_MAX + sizeof(uint32_t))

int composite_quiesce(struct composite *c)
{
	int ret = 0;

	for (unsigned int i = 0; i < c->n_slots; i++) {
		int err = c->slots[i].ops.quiesce(c->slots[i].link);

		if (err && err != -EAGAIN)
			return err;
		if (err)
			ret = err;
	}
	return ret;
}

void composite_resume(struct composite *c)
{
	composite_look_everywhere(c);
	for (unsigned int i = 0; i < c->n_slots; i++)
		c->slots[i].ops.resume(c->slots[i].link);
}

int composite_save(struct composite *c, uint8_t *buf, size_t room)
{
	size_t need = sizeof(uint32_t);
	uint32_t count = c->n_slots;

	if (room >= need)
		memcpy(buf, &count, sizeof(count));
	for (unsigned int i = 0; i < c->n_slots; i++) {
		struct composite_slot *slot = &c->slots[i];
		size_t at = need + SECTION, left = room > at ? room - at : 0;
		int len = slot->ops.save(slot->link, left ? buf + at : NULL, left);
		uint32_t len32;

		if (len < 0)
			return len;
		len32 = (uint32_t)len;
		if (at + len32 <= room) {
			memcpy(buf + need, slot->name, CONF_NAME_MAX);
			memcpy(buf + need + CONF_NAME_MAX, &len32, sizeof(len32));
		}
		need = at + len32;
	}
	return need > INT32_MAX ? -EFBIG : (int)need;
}

struct restore_arg {
	struct composite *c;
	unsigned int slot;
};

static int restore_peer(void *arg, uint32_t node, struct pm_link_peer **ret_peer)
{
	struct restore_arg *r = arg;
	struct composite_node *n;
	int err = composite_node(r->c, node, &n);

	if (err)
		return err;
	/* it may have begun to come another way, which is not known here yet */
	if (n->slot != r->slot)
		return takeover_ask(r->c, n, r->slot, ret_peer);
	*ret_peer = takeover_has(r->c, n) ? takeover_peer(n) : n->peer;
	return 0;
}

static int find_slot(struct composite *c, const uint8_t *name)
{
	if (!strncmp((const char *)name, TAKEOVER_NAME, CONF_NAME_MAX) && takeover_open(c))
		return -1;
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (!strncmp(c->slots[i].name, (const char *)name, CONF_NAME_MAX))
			return (int)i;
	return -1;
}

/* The saved state of one link. */
struct section {
	int slot; /* of the link, -1 = it is not open here */
	uint32_t len;
	const uint8_t *bytes;
};

/*
 * Finds all sections before a link sees any; their number or -EINVAL. A link has one state at most.
 */
static int find_sections(struct composite *c, const uint8_t *buf, size_t len,
			 struct section sections[COMPOSITE_LINKS])
{
	size_t at = sizeof(uint32_t);
	uint32_t count, seen = 0;

	if (len < sizeof(count))
		return -EINVAL;
	memcpy(&count, buf, sizeof(count));
	if (count > COMPOSITE_LINKS)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		struct section *s = &sections[i];

		if (len - at < SECTION)
			return -EINVAL;
		memcpy(&s->len, buf + at + CONF_NAME_MAX, sizeof(s->len));
		s->slot = find_slot(c, buf + at);
		at += SECTION;
		s->bytes = buf + at;
		if (s->len > len - at)
			return -EINVAL;
		at += s->len;
		if (!s->len)
			continue;
		if (s->slot < 0 || seen & 1u << s->slot)
			return -EINVAL;
		seen |= 1u << s->slot;
	}
	return at == len ? (int)count : -EINVAL;
}

static int restore_section(struct composite *c, const struct section *s)
{
	struct restore_arg r = {c, (unsigned int)s->slot};

	return s->len ? c->slots[s->slot].ops.restore(c->slots[s->slot].link, s->bytes, s->len,
						      restore_peer, &r)
		      : 0;
}

static bool is_takeover(const struct composite *c, const struct section *s)
{
	return s->slot >= 0 && &c->slots[s->slot] == c->takeover;
}

int composite_restore(struct composite *c, const uint8_t *buf, size_t len)
{
	struct section sections[COMPOSITE_LINKS];
	int count = find_sections(c, buf, len, sections);
	int err = 0;

	/* first of all which nodes go by another link than they would by themselves */
	for (int i = 0; !err && i < count; i++)
		if (is_takeover(c, &sections[i]))
			err = restore_section(c, &sections[i]);
	for (int i = 0; !err && i < count; i++)
		if (!is_takeover(c, &sections[i]))
			err = restore_section(c, &sections[i]);
	return count < 0 ? count : err;
}

uint64_t composite_memory(const struct composite *c)
{
	uint64_t sum = sizeof(*c) + c->nodes.count * sizeof(struct composite_node);

	if (c->nodes.slots)
		sum += (c->nodes.mask + 1ull) * sizeof(struct nodemap_slot);
	for (unsigned int i = 0; i < c->n_slots; i++)
		sum += c->slots[i].ops.memory(c->slots[i].link);
	return sum;
}
