// SPDX-License-Identifier: BSD-3-Clause
/*
 * pm - libpm by one of its devices, through pm.h: pmPost or, for longer messages, pmPostRow;
 * pmReceive, and pmBeforeSelect and poll() where a rank sleeps.
 */
#include "pm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/designs/design.h"

#define PARTS 64 /* datagrams that are taken at once */

static pmContext context;
static unsigned char addresses[2][MEET_BLOB_MAX];
static size_t address_bytes[2];
static size_t mtu;

static void must(int error, const char *what)
{
	if (error)
		die_of(what, *pmLastError() ? pmLastError() : pmErrorString(error));
}

static int resolve(void *unused, pmNode node, const void **ret_addr, size_t *ret_len)
{
	(void)unused;
	*ret_addr = addresses[node];
	*ret_len = address_bytes[node];
	return 0;
}

static pmNode other(void)
{
	return (pmNode)!meet_rank;
}

static void must_be_over(const char *device)
{
	const char *name;

	must(pmGetDeviceName(context, other(), &name), "pmGetDeviceName");
	if (strcmp(name, device))
		die_of(name, "libpm chose this device, not the one that is to be measured");
}

static void pm_open(struct end *end, const char *config, const char *device)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = meet_key(),
				    .self = (pmNode)meet_rank,
				    .nodes = 2,
				    .config = config,
				    .resolver = resolve};
	unsigned char ours[PM_ADDRESS_MAX];
	size_t len = sizeof(ours);

	(void)end;
	must(pmOpenContext(&options, &context), "pmOpenContext");
	must(pmGetAddress(context, ours, &len), "pmGetAddress");
	address_bytes[other()] = meet_exchange(ours, len, addresses[other()]);
	must(pmGetMtu(context, other(), &mtu), "pmGetMtu");
	must_be_over(device);
}

static void open_direct(struct end *end)
{
	pm_open(end, "devices=self+ethernet,ethernet.attach=direct", "ethernet");
}

static void open_port(struct end *end)
{
	pm_open(end, "devices=self+ethernet,ethernet.attach=port", "ethernet");
}

static void open_udp(struct end *end)
{
	char config[64];

	snprintf(config, sizeof(config), "devices=self+udp,udp.rails=%s", end->interface);
	pm_open(end, config, "udp");
}

static void open_shmem(struct end *end)
{
	pm_open(end, "devices=self+shmem", "shmem");
}

/*
 * Where there is no room the library has to look at what has come; no data of the other rank are
 * under way then.
 */
static void make_room(void)
{
	void *data;
	pmNode from;
	size_t len;
	pmDesc desc;

	if (pmReceive(context, &data, &len, &from, &desc) == PM_SUCCESS)
		die_of("pmReceive", "a message came before it was answered");
}

static void pm_send(struct end *end, const unsigned char *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		size_t n = 0;
		int error;

		if (bytes <= mtu) {
			error = pmPost(context, other(), data, bytes);
			n = error ? 0 : bytes;
		} else {
			error = pmPostRow(context, other(), NULL, 0, data + done, bytes - done, mtu,
					  &n);
		}
		done += n;
		if (error == ENOBUFS)
			make_room();
		else
			must(error, "pmPost");
	}
	lap(end, STEP_SEND);
}

static size_t pm_take(struct end *end, unsigned char *to, size_t room)
{
	struct iovec parts[PARTS];
	size_t n, bytes = 0;
	pmNode from;
	pmDesc desc;
	int error = pmReceiveRow(context, parts, PARTS, &n, &from, &desc);

	if (error == ENOBUFS)
		return nothing(end);
	must(error, "pmReceiveRow");
	lap(end, STEP_RECEIVE);
	for (size_t i = 0; i < n; i++) {
		if (parts[i].iov_len > room - bytes)
			die_of("message", "longer than what is left of it");
		memcpy(to + bytes, parts[i].iov_base, parts[i].iov_len);
		bytes += parts[i].iov_len;
	}
	lap(end, STEP_UNPACK);
	must(pmReleaseReceiveBuffer(context, desc), "pmReleaseReceiveBuffer");
	lap(end, STEP_RECEIVE);
	return bytes;
}

static void sleep_until_there(void)
{
	struct pollfd wanted = {.events = POLLIN};
	int timeout_ms, error = pmBeforeSelect(context, &wanted.fd, &timeout_ms);

	if (error == ENOBUFS)
		return; /* a message has come */
	must(error, "pmBeforeSelect");
	if (poll(&wanted, 1, timeout_ms) < 0)
		die("poll");
	must(pmAfterSelect(context), "pmAfterSelect");
}

static size_t pm_sleep(struct end *end, unsigned char *to, size_t room)
{
	size_t n = pm_take(end, to, room);

	if (n == 0) {
		sleep_until_there();
		lap(end, STEP_RECEIVE);
	}
	return n;
}

static void pm_settle(struct end *end)
{
	int error;

	(void)end;
	while ((error = pmIsSendOut(context, other())) == ENOBUFS)
		make_room();
	must(error, "pmIsSendOut");
}

static void pm_close(struct end *end)
{
	(void)end;
	must(pmQuiesce(context, 5000), "pmQuiesce");
	meet();
	must(pmCloseContext(context), "pmCloseContext");
}

const struct design pm_direct = {
	.name = "pm-direct",
	.about = "PM over pm-ethernet, direct attachment; pmReceive is called until it brings a "
		 "message",
	.open = open_direct,
	.send = pm_send,
	.take = pm_take,
	.settle = pm_settle,
	.close = pm_close,
};

const struct design pm_direct_block = {
	.name = "pm-direct-block",
	.about = "PM over pm-ethernet, direct attachment; poll() sleeps until there is a message",
	.is_blocking = true,
	.open = open_direct,
	.send = pm_send,
	.take = pm_sleep,
	.settle = pm_settle,
	.close = pm_close,
};

const struct design pm_port = {
	.name = "pm-port",
	.about = "PM over pm-ethernet, a port: what a process sends is checked in the kernel",
	.open = open_port,
	.send = pm_send,
	.take = pm_take,
	.settle = pm_settle,
	.close = pm_close,
};

const struct design pm_udp = {
	.name = "pm-udp",
	.about = "PM over UDP",
	.open = open_udp,
	.send = pm_send,
	.take = pm_take,
	.settle = pm_settle,
	.close = pm_close,
};

const struct design pm_shmem = {
	.name = "pm-shmem",
	.about = "PM over shared memory: both ranks on one host",
	.open = open_shmem,
	.send = pm_send,
	.take = pm_take,
	.settle = pm_settle,
	.close = pm_close,
};
