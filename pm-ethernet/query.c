// SPDX-License-Identifier: BSD-3-Clause
/* query - see query.h. The names end up on terminals, so only plain characters pass. */
#include "pm-ethernet/query.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(struct eth_query_body) == 104, "size of the body");

static bool is_plain(char c)
{
	return c > ' ' && c <= '~';
}

static void put_name(char *to, const char *from, size_t size)
{
	size_t i;

	memset(to, 0, size);
	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = is_plain(from[i]) ? from[i] : '?';
	if (i == 0)
		to[0] = '?';
}

static bool get_name(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size), i;

	if (len == 0 || len == size)
		return false;
	for (i = 0; i < len; i++)
		if (!is_plain(from[i]))
			return false;
	memset(to, 0, size);
	memcpy(to, from, len);
	return true;
}

void eth_query_put(uint8_t ret_frame[ETH_QUERY_BYTES], const struct eth_query *query, uint16_t type)
{
	struct eth_frame head = {.type = type,
				 .version = ETH_VERSION,
				 .kind = query->kind,
				 .ttl = 1,
				 .rail = query->rail,
				 .dst_host = htole32(query->dst_host),
				 .src_host = htole32(query->src_host)};
	struct eth_query_body body = {.nonce = htole64(query->nonce),
				      .stamp = htole64(query->stamp),
				      .mtu = htole32(query->mtu),
				      .n_rails = query->n_rails};

	memcpy(head.dst_mac, query->dst_mac, ETH_MAC);
	memcpy(head.src_mac, query->src_mac, ETH_MAC);
	put_name(body.rail_name, query->rail_name, sizeof(body.rail_name));
	put_name(body.host_name, query->host_name, sizeof(body.host_name));
	memcpy(ret_frame, &head, sizeof(head));
	memcpy(ret_frame + sizeof(head), &body, sizeof(body));
}

static bool is_interface(const uint8_t mac[ETH_MAC])
{
	static const uint8_t none[ETH_MAC];

	return !(mac[0] & 1) && memcmp(mac, none, ETH_MAC) != 0;
}

static enum eth_drop check_head(const struct eth_frame *head, uint16_t type)
{
	if (head->type != type)
		return ETH_DROP_TYPE;
	if (head->version != ETH_VERSION)
		return ETH_DROP_VERSION;
	if (head->kind != ETH_QUERY && head->kind != ETH_ANSWER)
		return ETH_DROP_KIND;
	if (le32toh(head->src_host) == ETH_QUERY_ANYONE)
		return ETH_DROP_HOST;
	if (head->kind == ETH_ANSWER && le32toh(head->dst_host) == ETH_QUERY_ANYONE)
		return ETH_DROP_HOST;
	if (!is_interface(head->src_mac))
		return ETH_DROP_SOURCE;
	return ETH_DROP_NONE;
}

enum eth_drop eth_query_decode(const void *frame, size_t len, uint16_t type, struct eth_query *ret)
{
	struct eth_query query = {0};
	struct eth_query_body body;
	struct eth_frame head;
	enum eth_drop drop;

	if (len < ETH_QUERY_BYTES)
		return ETH_DROP_SHORT;
	memcpy(&head, frame, sizeof(head));
	memcpy(&body, (const uint8_t *)frame + sizeof(head), sizeof(body));
	drop = check_head(&head, type);
	if (drop)
		return drop;
	query.mtu = le32toh(body.mtu);
	if (body.n_rails > ETH_RAILS || head.rail >= body.n_rails)
		return ETH_DROP_RAIL;
	if (query.mtu < ETH_QUERY_MTU_MIN || query.mtu > ETH_QUERY_MTU_MAX)
		return ETH_DROP_LENGTH;
	if (!get_name(query.rail_name, body.rail_name, sizeof(body.rail_name)) ||
	    !get_name(query.host_name, body.host_name, sizeof(body.host_name)))
		return ETH_DROP_LENGTH;
	query.kind = head.kind;
	memcpy(query.dst_mac, head.dst_mac, ETH_MAC);
	memcpy(query.src_mac, head.src_mac, ETH_MAC);
	query.dst_host = le32toh(head.dst_host);
	query.src_host = le32toh(head.src_host);
	query.nonce = le64toh(body.nonce);
	query.stamp = le64toh(body.stamp);
	query.rail = head.rail;
	query.n_rails = body.n_rails;
	*ret = query;
	return ETH_DROP_NONE;
}
