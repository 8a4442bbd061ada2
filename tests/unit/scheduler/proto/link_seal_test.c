// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sealed links with somebody between them, who passes bytes on and can read, alter, repeat, hold
 * back and cut. Two links have taken over a socket each, and the test's own hands are the way
 * between these two.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/link.h"
#include "tests/harness/tap.h"

#define TURNS 20 /* of the loop, in which all happens that is due */
#define LONG_BYTES (3 * SEAL_PLAIN_MAX)

struct middle {
	struct ev_loop *loop;
	struct link *a, *b;
	int at_a, at_b; /* the ends between them */
	unsigned int n_messages, n_closed;
	size_t body_bytes;
	char op[32], body[64], why[512];
	int error;
	struct seal_counts before;
};

static void message(struct link *link, const char *op, json_t *head, const char *body,
		    size_t body_size, void *owner)
{
	struct middle *m = owner;

	m->n_messages++;
	m->body_bytes += body_size;
	snprintf(m->op, sizeof(m->op), "%s", op);
	snprintf(m->body, sizeof(m->body), "%.*s", (int)body_size, body);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct middle *m = owner;

	m->n_closed++;
	m->error = error;
	snprintf(m->why, sizeof(m->why), "%s", why);
	*(link == m->a ? &m->a : &m->b) = NULL;
}

static const struct link_events events = {.message = message, .closed = closed};

static void settle(struct middle *m)
{
	for (int i = 0; i < TURNS; i++)
		ev_run(m->loop, EVRUN_NOWAIT);
}

static void setup(struct middle *m)
{
	unsigned char opening[2][SEAL_OPENING_BYTES];
	struct seal_keys keys[2];
	struct seal seal[2];
	int a[2], b[2];

	*m = (struct middle){.loop = ev_loop_new(EVFLAG_AUTO), .before = *seal_counts()};
	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a) &&
	   !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b));
	is_int(seal_keys_make(&keys[0]), 0);
	is_int(seal_keys_make(&keys[1]), 0);
	is_int(seal_begin(&seal[0], &keys[0], keys[1].public, false, seal_cipher_best(),
			  opening[0]),
	       0);
	is_int(seal_begin(&seal[1], &keys[1], keys[0].public, true, seal_cipher_best(), opening[1]),
	       0);
	m->at_a = a[1];
	m->at_b = b[1];
	is_int(write(m->at_a, opening[1], SEAL_OPENING_BYTES), SEAL_OPENING_BYTES);
	is_int(write(m->at_b, opening[0], SEAL_OPENING_BYTES), SEAL_OPENING_BYTES);
	m->a = link_take_over(m->loop, a[0], 1, &seal[0], &events, m);
	m->b = link_take_over(m->loop, b[0], 2, &seal[1], &events, m);
	ok(m->a && m->b);
}

static void teardown(struct middle *m)
{
	if (m->a)
		link_close(m->a, 0.);
	if (m->b)
		link_close(m->b, 0.);
	settle(m);
	close(m->at_a);
	close(m->at_b);
	ev_loop_destroy(m->loop);
}

static void say(struct middle *m, const char *op, const char *body)
{
	is_int(link_send(m->a, json_pack("{s:s}", "op", op), body, strlen(body)), 0);
}

/* Takes the bytes that a has sent. */
static size_t take(const struct middle *m, char *to, size_t room)
{
	ssize_t n = recv(m->at_a, to, room, MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}

static void pass(struct middle *m, const char *bytes, size_t size)
{
	is_int(send(m->at_b, bytes, size, MSG_DONTWAIT), size);
	settle(m);
}

TAP_TEST(link__nobody_reads_what_is_sealed)
{
	struct middle m;
	char bytes[1024];
	size_t size;

	setup(&m);
	say(&m, "confidential", "the key of the job");
	size = take(&m, bytes, sizeof(bytes));
	ok(size > 0 && !memmem(bytes, size, "confidential", 12) && !memmem(bytes, size, "key", 3));
	pass(&m, bytes, size);
	is_int(m.n_messages, 1);
	is_str(m.op, "confidential");
	is_str(m.body, "the key of the job");
	teardown(&m);
}

/* However it is cut to pieces on its way. */
TAP_TEST(link__sealed_bytes_one_by_one)
{
	struct middle m;
	char bytes[1024];
	size_t size;

	setup(&m);
	say(&m, "first", "");
	say(&m, "second", "body");
	size = take(&m, bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i++)
		pass(&m, bytes + i, 1);
	is_int(m.n_messages, 2);
	is_str(m.op, "second");
	is_str(m.body, "body");
	teardown(&m);
}

/* More than the sockets hold: records are made as there is room for them. */
TAP_TEST(link__sealed_messages_that_have_to_wait)
{
	char *body = calloc(1, LONG_BYTES), *bytes = malloc(LONG_BYTES);
	struct middle m;
	size_t size, most = 0;

	must(body && bytes);
	setup(&m);
	for (int i = 0; i < 4; i++)
		is_int(link_send(m.a, json_pack("{s:s}", "op", "long"), body, LONG_BYTES), 0);
	while ((size = take(&m, bytes, LONG_BYTES)) > 0) {
		most = size > most ? size : most;
		pass(&m, bytes, size);
	}
	is_int(m.n_messages, 4);
	is_int(m.body_bytes, 4 * LONG_BYTES);
	ok(most > SEAL_PLAIN_MAX);
	teardown(&m);
	free(body);
	free(bytes);
}

static void is_altered(struct middle *m, unsigned int n_messages)
{
	is_int(m->n_messages, n_messages);
	is_int(m->n_closed, 1);
	is_int(m->error, EBADMSG);
	ok(strstr(m->why, "not what the other side sent"));
	is_int(seal_counts()->altered, m->before.altered + 1);
	ok(!m->b);
	teardown(m);
}

TAP_TEST(link__altered_on_the_way)
{
	struct middle m;
	char bytes[1024];
	size_t size;

	setup(&m);
	say(&m, "first", "body");
	size = take(&m, bytes, sizeof(bytes));
	bytes[size - 1] = (char)(bytes[size - 1] ^ 0x80);
	pass(&m, bytes, size);
	is_altered(&m, 0);
}

TAP_TEST(link__repeated_on_the_way)
{
	struct middle m;
	char bytes[1024];
	size_t size;

	setup(&m);
	say(&m, "first", "body");
	size = take(&m, bytes, sizeof(bytes));
	pass(&m, bytes, size);
	pass(&m, bytes, size);
	is_altered(&m, 1);
}

TAP_TEST(link__reordered_on_the_way)
{
	struct middle m;
	char first[1024], second[1024];
	size_t n_first, n_second;

	setup(&m);
	say(&m, "first", "");
	n_first = take(&m, first, sizeof(first));
	say(&m, "second", "");
	n_second = take(&m, second, sizeof(second));
	ok(n_first > 0);
	pass(&m, second, n_second);
	is_altered(&m, 0);
}

/* A message that never comes, and then the end. */
TAP_TEST(link__cut_on_the_way)
{
	struct middle m;
	char bytes[1024];

	setup(&m);
	say(&m, "first", "");
	pass(&m, bytes, take(&m, bytes, sizeof(bytes)));
	say(&m, "second", "");
	shutdown(m.at_b, SHUT_WR);
	settle(&m);
	is_int(m.n_messages, 1);
	is_int(m.n_closed, 1);
	ok(strstr(m.why, "without saying so"));
	teardown(&m);
}

/* In the middle of a record. */
TAP_TEST(link__cut_in_a_record)
{
	struct middle m;
	char bytes[1024];

	setup(&m);
	say(&m, "first", "");
	pass(&m, bytes, take(&m, bytes, sizeof(bytes)) - 1);
	shutdown(m.at_b, SHUT_WR);
	settle(&m);
	is_int(m.n_messages, 0);
	is_int(m.error, ECONNRESET);
	teardown(&m);
}

static void ends_well(struct middle *m, double linger)
{
	char bytes[1024];

	setup(m);
	say(m, "last", "");
	link_close(m->a, linger);
	m->a = NULL;
	settle(m);
	pass(m, bytes, take(m, bytes, sizeof(bytes)));
	shutdown(m->at_b, SHUT_WR);
	/* the one that lingers waits for it */
	shutdown(m->at_a, SHUT_WR);
	settle(m);
	is_int(m->n_messages, 1);
	is_int(m->n_closed, 1);
	is_int(m->error, 0);
	ok(!strstr(m->why, "without"));
	teardown(m);
}

TAP_TEST(link_close__says_the_end)
{
	struct middle m;

	ends_well(&m, 0.);
	ends_well(&m, 5.);
}

/* Bytes that were thrown away are no end: the other side must not take the rest for all. */
TAP_TEST(link_close__with_bytes_that_wait)
{
	char *body = calloc(1, LONG_BYTES), *bytes = malloc(8 * LONG_BYTES);
	struct middle m;
	size_t size;

	must(body && bytes);
	setup(&m);
	for (int i = 0; i < 4; i++)
		is_int(link_send(m.a, json_pack("{s:s}", "op", "long"), body, LONG_BYTES), 0);
	/* Now there is room in the socket. */
	size = take(&m, bytes, 8 * LONG_BYTES);
	link_close(m.a, 0.);
	m.a = NULL;
	size += take(&m, bytes + size, 8 * LONG_BYTES - size);
	ok(size > SEAL_PLAIN_MAX && size < 4 * LONG_BYTES);
	for (size_t at = 0, n; m.b && at < size; at += n) {
		n = size - at < 4096 ? size - at : 4096;
		pass(&m, bytes + at, n);
	}
	shutdown(m.at_b, SHUT_WR);
	settle(&m);
	ok(m.n_messages < 4);
	is_int(m.n_closed, 1);
	is_int(m.error, ECONNRESET);
	teardown(&m);
	free(body);
	free(bytes);
}

/* A record that is not whole yet counts, and so does the room for what it holds. */
TAP_TEST(link_limit__quota_of_records)
{
	static char bytes[2 * SEAL_PLAIN_MAX];
	struct link_quota quota = {.max = LINK_FULL};
	struct middle m;
	char *body = calloc(1, SEAL_PLAIN_MAX / 2);
	size_t size;

	must(body);
	setup(&m);
	link_limit(m.b, FRAME_MAX, 0, &quota);
	is_int(link_send(m.a, json_pack("{s:s}", "op", "long"), body, SEAL_PLAIN_MAX / 2), 0);
	size = take(&m, bytes, sizeof(bytes));
	/* The head is a record of its own. */
	pass(&m, bytes, size - 1);
	okf(quota.used >= SEAL_PLAIN_MAX, "%zu bytes of quota", quota.used);
	pass(&m, bytes + size - 1, 1);
	is_int(m.n_messages, 1);
	is_int(quota.used, 0);
	link_limit(m.b, 0, 0, NULL);
	teardown(&m);
	free(body);
}

/* The next one goes on with what was agreed. */
TAP_TEST(link_give_up__with_the_seal)
{
	struct middle m;
	struct seal seal;
	char bytes[1024];
	int fd;

	setup(&m);
	say(&m, "first", "");
	pass(&m, bytes, take(&m, bytes, sizeof(bytes)));
	fd = link_give_up(m.b, &seal);
	must(fd >= 0);
	m.b = link_take_over(m.loop, fd, 2, &seal, &events, &m);
	say(&m, "second", "");
	pass(&m, bytes, take(&m, bytes, sizeof(bytes)));
	is_int(m.n_messages, 2);
	is_str(m.op, "second");
	is_int(link_send(m.b, json_pack("{s:s}", "op", "back"), NULL, 0), 0);
	is_int(send(m.at_a, bytes, (size_t)recv(m.at_b, bytes, sizeof(bytes), 0), 0), 42);
	settle(&m);
	is_str(m.op, "back");
	teardown(&m);
}
