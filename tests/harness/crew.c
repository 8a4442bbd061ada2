// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/crew.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define ROW_MAX 5 /* messages taken together */
#define LEADS 8   /* lengths of the head of a row's first datagram */

static int resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	struct crew *crew = arg;
	int i = crew_member(crew, node);

	if (i < 0 || !crew->address_len[i])
		return EAGAIN;
	*ret_addr = crew->address[i];
	*ret_len = crew->address_len[i];
	return 0;
}

static bool open_member(struct crew *crew, unsigned int i, const char *config)
{
	struct pmOptions options = {
		.size = sizeof(options),
		.job_key = crew->key,
		.self = crew_node(crew, i),
		.nodes = crew->n,
		.local = crew->n,
		.config = config,
		.resolver = resolve,
		.resolver_arg = crew,
	};

	if (!is_int(pmOpenContext(&options, &crew->ctx[i]), PM_SUCCESS)) {
		tap_diag("%s: %s", config, pmLastError());
		return false;
	}
	crew->address_len[i] = PM_ADDRESS_MAX;
	return is_int(pmGetAddress(crew->ctx[i], crew->address[i], &crew->address_len[i]),
		      PM_SUCCESS);
}

bool crew_open(struct crew *crew, unsigned int n, const char *const *configs)
{
	uint64_t seed = tap_seed() ^ (uint64_t)(uintptr_t)crew ^ (uint64_t)clock();

	memset(crew, 0, sizeof(*crew));
	crew->n = n;
	crew->key = tap_rand(&seed);
	crew->base = (uint32_t)tap_rand(&seed) & 0x7fffffff;
	for (unsigned int i = 0; i < n; i++)
		if (!open_member(crew, i, configs[i]))
			return false;
	return true;
}

void crew_close(struct crew *crew)
{
	for (unsigned int i = 0; i < crew->n; i++)
		if (crew->ctx[i])
			is_int(pmCloseContext(crew->ctx[i]), PM_SUCCESS);
}

bool crew_reopen(struct crew *crew, unsigned int i, const char *config)
{
	return open_member(crew, i, config);
}

pmNode crew_node(const struct crew *crew, unsigned int i)
{
	return crew->base + 1000003u * i;
}

int crew_member(const struct crew *crew, pmNode node)
{
	for (unsigned int i = 0; i < crew->n; i++)
		if (crew_node(crew, i) == node)
			return (int)i;
	return -1;
}

void crew_fill(uint8_t *buf, size_t len, unsigned int from, uint64_t number)
{
	uint64_t x = (number + 1) * 0x9e3779b97f4a7c15ull + from;

	for (size_t i = 0; i < len; i++) {
		buf[i] = (uint8_t)(x >> 56);
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	}
}

int crew_send(struct crew *crew, unsigned int from, unsigned int to, size_t len)
{
	pmDesc desc;
	void *buf;
	int err = pmGetSendBuffer(crew->ctx[from], crew_node(crew, to), len, &buf, &desc);

	if (err)
		return err;
	crew_fill(buf, len, from, crew->sent[from][to]);
	err = pmSend(crew->ctx[from], desc);
	if (!err)
		crew->sent[from][to]++;
	return err;
}

static void check_message(struct crew *crew, unsigned int to, pmNode src, const void *data,
			  size_t len)
{
	static uint8_t want[65536];
	int from = crew_member(crew, src);

	if (!okf(from >= 0 && len <= sizeof(want), "from node %u, %zu bytes", src, len))
		return;
	crew_fill(want, len, (unsigned int)from, crew->received[from][to]);
	okf(!memcmp(data, want, len), "message %llu from %d to %u, %zu bytes: wrong contents",
	    (unsigned long long)crew->received[from][to], from, to, len);
	crew->received[from][to]++;
}

static bool is_received(int err, unsigned int to)
{
	if (err && err != ENOBUFS)
		okf(false, "receiving at %u: %s (%s)", to, pmErrorString(err), pmLastError());
	return !err;
}

int crew_receive(struct crew *crew, unsigned int to)
{
	pmNode src;
	pmDesc desc;
	size_t len;
	void *buf;

	if (!is_received(pmReceive(crew->ctx[to], &buf, &len, &src, &desc), to))
		return 0;
	check_message(crew, to, src, buf, len);
	is_int(pmReleaseReceiveBuffer(crew->ctx[to], desc), PM_SUCCESS);
	return 1;
}

/* Takes rows of changing length. */
static void receive_row(struct crew *crew, unsigned int to)
{
	struct iovec row[ROW_MAX];
	size_t n = 0, room = 1 + crew->n_turns % ROW_MAX;
	pmNode src;
	pmDesc desc;

	if (!is_received(pmReceiveRow(crew->ctx[to], row, room, &n, &src, &desc), to))
		return;
	okf(n >= 1 && n <= room, "%zu messages where there was room for %zu", n, room);
	for (size_t i = 0; i < n; i++)
		check_message(crew, to, src, row[i].iov_base, row[i].iov_len);
	is_int(pmReleaseReceiveBuffer(crew->ctx[to], desc), PM_SUCCESS);
}

void crew_turn(struct crew *crew)
{
	crew->n_turns++;
	for (unsigned int i = 0; i < crew->n; i++)
		receive_row(crew, i);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Prints the state of every member's devices, for a test that makes no progress. */
static void dump(const struct crew *crew)
{
	for (unsigned int i = 0; i < crew->n; i++)
		pmDumpContext(crew->ctx[i], STDERR_FILENO);
}

/* Whether there is time left for what finds no room; all members take what came. */
static bool try_again(struct crew *crew, double end, unsigned int from, unsigned int to)
{
	crew_turn(crew);
	if (tap_has_failed())
		return false;
	if (okf(seconds() < end, "no room from %u to %u for 10 s", from, to))
		return true;
	dump(crew);
	return false;
}

bool crew_send_hard(struct crew *crew, unsigned int from, unsigned int to, size_t len)
{
	double end = seconds() + 10;
	int err;

	while ((err = crew_send(crew, from, to, len)) == ENOBUFS)
		if (!try_again(crew, end, from, to))
			return false;
	return okf(!err, "send from %u to %u: %s (%s)", from, to, pmErrorString(err),
		   pmLastError());
}

bool crew_post_hard(struct crew *crew, unsigned int from, unsigned int to, uint8_t *buf, size_t len)
{
	double end = seconds() + 10;
	int err;

	crew_fill(buf, len, from, crew->sent[from][to]);
	while ((err = pmPost(crew->ctx[from], crew_node(crew, to), buf, len)) == ENOBUFS)
		if (!try_again(crew, end, from, to))
			return false;
	crew->sent[from][to] += !err;
	return okf(!err, "post from %u to %u: %s (%s)", from, to, pmErrorString(err),
		   pmLastError());
}

static bool is_drained(const struct crew *crew)
{
	for (unsigned int i = 0; i < crew->n; i++)
		for (unsigned int j = 0; j < crew->n; j++)
			if (crew->sent[i][j] != crew->received[i][j])
				return false;
	return true;
}

/* The next bytes from *@arg on. */
static void gather(void *arg, void *to, size_t n)
{
	const uint8_t **at = arg;

	memcpy(to, *at, n);
	*at += n;
}

/* A row to be sent. Its first datagram has a head if @lead is not 0: so many bytes of @buf. */
struct span {
	const uint8_t *buf;
	size_t len, part, lead;
	bool is_gathered;
};

/* Gives what begins at @at; *ret_taken: bytes of @buf. */
static int give(pmContext ctx, pmNode node, const struct span *span, size_t at, size_t *ret_taken)
{
	size_t lead = at ? 0 : span->lead, left = span->len - at;
	const uint8_t *next = span->buf + at + lead;
	const pmRowHead first = {span->buf, lead, span->part - lead},
			others = {NULL, 0, span->part};
	int err;

	if (lead)
		err = span->is_gathered ? pmGatherHeadedRow(ctx, node, &first, &others, gather,
							    &next, left - lead, ret_taken)
					: pmPostHeadedRow(ctx, node, &first, &others, next,
							  left - lead, ret_taken);
	else
		err = span->is_gathered
			      ? pmGatherRow(ctx, node, NULL, 0, gather, &next, left, span->part,
					    ret_taken)
			      : pmPostRow(ctx, node, NULL, 0, next, left, span->part, ret_taken);
	if (*ret_taken)
		*ret_taken += lead;
	/* nothing is gathered in vain */
	if (span->is_gathered && !is_int(next - span->buf, at + (*ret_taken ? *ret_taken : lead)))
		return EPROTO;
	return err;
}

bool crew_row_hard(struct crew *crew, unsigned int from, unsigned int to, uint8_t *buf, size_t len,
		   size_t part, bool is_gathered)
{
	struct span span = {buf, len, part, 0, is_gathered};
	double end = seconds() + 10;
	size_t at, done = 0;
	int err = 0;

	if (len > LEADS && part > LEADS)
		span.lead = crew->sent[from][to] % LEADS;

	for (at = 0; at < len; at += part)
		crew_fill(buf + at, len - at < part ? len - at : part, from,
			  crew->sent[from][to] + at / part);
	for (at = 0; at < len && !err; at += done) {
		err = give(crew->ctx[from], crew_node(crew, to), &span, at, &done);
		crew->sent[from][to] += (done + part - 1) / part;
		if (err != ENOBUFS)
			continue;
		err = 0;
		if (!okf(done % part == 0, "%zu bytes of parts of %zu were taken", done, part) ||
		    !try_again(crew, end, from, to))
			return false;
	}
	return okf(!err, "row from %u to %u: %s (%s)", from, to, pmErrorString(err), pmLastError());
}

bool crew_drain(struct crew *crew)
{
	double end = seconds() + 20;

	while (!is_drained(crew)) {
		crew_turn(crew);
		if (tap_has_failed())
			return false;
		if (seconds() < end)
			continue;
		for (unsigned int i = 0; i < crew->n; i++)
			for (unsigned int j = 0; j < crew->n; j++)
				okf(crew->sent[i][j] == crew->received[i][j],
				    "%u -> %u: %llu sent, %llu arrived", i, j,
				    (unsigned long long)crew->sent[i][j],
				    (unsigned long long)crew->received[i][j]);
		dump(crew);
		return false;
	}
	return true;
}
