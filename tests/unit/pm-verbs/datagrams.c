// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/pm-verbs/datagrams.h"

#include <poll.h>

#define OPS (&pm_verbs_datagram_ops)

struct datagram_node boxes[DATAGRAMS];

int box_open(struct datagram_node *n, const char *options)
{
	struct pm_device_env env = {
		.conf = &n->conf,
		.stats = &n->stats,
		.rails = n->rails,
		.job_key = 4711,
		.self = (uint32_t)(n - boxes),
		.why = n->why,
		.why_size = sizeof(n->why),
	};
	int err;

	memset(n, 0, sizeof(*n));
	conf_defaults(&n->conf);
	n->conf.send_buffers = 64;
	if (options && conf_parse(&n->conf, options, n->why, sizeof(n->why)))
		return -EINVAL;
	err = OPS->open(&env, NULL, &n->dev);
	if (err) {
		n->dev = NULL;
		return err;
	}
	err = OPS->address(n->dev, n->address, sizeof(n->address));
	n->address_len = err > 0 ? (size_t)err : 0;
	return err > 0 ? 0 : err;
}

void box_close(struct datagram_node *n)
{
	if (n->dev)
		OPS->close(n->dev);
	n->dev = NULL;
}

int box_meet(int from, int to)
{
	return OPS->peer_add(boxes[from].dev, (uint32_t)to, boxes[to].address,
			     boxes[to].address_len, &boxes[from].peer[to], &boxes[from].mask[to]);
}

bool boxes_open(int n, const char *options)
{
	bool is_ok = true;

	memset(boxes, 0, sizeof(boxes));
	for (int i = 0; i < n; i++)
		if (!is_int(box_open(&boxes[i], options), 0)) {
			tap_diag("%s", boxes[i].why);
			return false;
		}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			is_ok &= i == j || is_int(box_meet(i, j), 0);
	return is_ok;
}

void boxes_close(void)
{
	for (int i = 0; i < DATAGRAMS; i++)
		box_close(&boxes[i]);
	is_int(fake.live, 0);
	is_int(fake.overflows, 0);
	is_int((long)fake.locked, 0);
	fake_end();
}

static uint8_t byte_of(uint32_t seq, uint32_t i)
{
	return (uint8_t)(seq * 31 + i * 7 + (i >> 8));
}

int box_post(int from, int to, uint32_t rail, uint32_t seq, uint32_t len)
{
	struct datagram_node *n = &boxes[from];
	struct pm_packet *p = OPS->tx_alloc(n->dev);
	int err;

	if (!p)
		return -ENOBUFS;
	p->len = len;
	memcpy(p->data, &seq, sizeof(seq));
	for (uint32_t i = 4; i < p->len; i++)
		p->data[i] = byte_of(seq, i);
	err = OPS->tx_post(n->dev, rail, n->peer[to], p);
	/* the device keeps it as long as it needs it */
	OPS->tx_free(n->dev, p);
	return err;
}

void box_kick(int at)
{
	OPS->tx_kick(boxes[at].dev);
}

int box_take(int at, uint32_t *ret_len, uint32_t *ret_rail)
{
	struct pm_dev *dev = boxes[at].dev;
	struct pm_rx rx;
	uint32_t seq;
	bool is_right = true;

	if (OPS->rx_burst(dev, &rx, 1) != 1)
		return -1;
	memcpy(&seq, rx.data, sizeof(seq));
	for (uint32_t i = 4; i < rx.len; i++)
		is_right &= rx.data[i] == byte_of(seq, i);
	is_right &= !((uintptr_t)rx.data & 7);
	if (ret_len)
		*ret_len = rx.len;
	if (ret_rail)
		*ret_rail = rx.rail;
	OPS->rx_return(dev, rx.token);
	return is_right ? (int)seq : -2;
}

bool box_passes(int from, int to, uint32_t rail)
{
	static uint32_t seq = 1000;
	uint32_t len = 0, got_rail = 0;
	int got;

	if (!is_int(box_post(from, to, rail, ++seq, 100), 0))
		return false;
	box_kick(from);
	got = box_take(to, &len, &got_rail);
	return okf(got == (int)seq && len == 100 && got_rail == rail,
		   "got %d instead of %u, %u bytes, rail %u", got, seq, len, got_rail);
}

bool box_is_readable(int at)
{
	struct pollfd fd = {.events = POLLIN};

	return is_int(OPS->poll_fds(boxes[at].dev, &fd.fd, 1), 1) && poll(&fd, 1, 0) > 0;
}
