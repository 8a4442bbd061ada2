// SPDX-License-Identifier: BSD-3-Clause
/*
 * outbox: whatever the socket takes at once, all messages come out whole and in order, shared ones
 * uncopied.
 */
#include "scheduler/proto/outbox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define LARGE (1u << 20)
#define MESSAGES 64
#define RECEIVED_MAX (MESSAGES * (LARGE / 8))

static struct shared *letters(size_t size)
{
	char *bytes = malloc(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)('a' + i % 26);
	return shared_new(bytes, size);
}

/* Some of it, as much as is there. */
static size_t take(int fd, char *to, size_t room)
{
	ssize_t n = recv(fd, to, room, MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}

TAP_TEST(outbox_send__shared_is_held_while_it_waits)
{
	struct outbox box[3] = {{0}};
	struct shared *body = letters(LARGE);
	char head[] = "head";
	struct outbox_message message = {.part[0] = {head, 4}, .shared = body};

	must(body);
	for (int i = 0; i < 3; i++) {
		is_int(outbox_send(&box[i], -1, &message), 0);
		is_int(box[i].bytes, LARGE + 4);
	}
	is_int(body->n_holders, 4);
	outbox_join(&box[0], &box[1]);
	is_int(box[0].bytes, 2 * (LARGE + 4));
	outbox_clear(&box[0]);
	is_int(body->n_holders, 2);
	outbox_clear(&box[2]);
	is_int(body->n_holders, 1);
	shared_release(body);
	shared_release(NULL);
}

static size_t put(char *to, const struct outbox_message *message)
{
	const struct shared *shared = message->shared;

	memcpy(to, message->part[0].iov_base, message->part[0].iov_len);
	to += message->part[0].iov_len;
	if (shared)
		memcpy(to, shared->bytes, shared->size);
	else if (message->part[1].iov_len)
		memcpy(to, message->part[1].iov_base, message->part[1].iov_len);
	return message->part[0].iov_len + (shared ? shared->size : message->part[1].iov_len);
}

/*
 * Heads of random lengths with shared, own or no bodies, while the other side reads now and then.
 */
TAP_TEST(outbox_send__any_mixture_in_order)
{
	char *sent = malloc(RECEIVED_MAX), *got = malloc(RECEIVED_MAX), *copied = malloc(LARGE);
	struct shared *body = letters(LARGE / 16);
	size_t n_sent = 0, n_got = 0;
	uint64_t seed = tap_seed();
	struct outbox box = {0};
	int pair[2];

	must(body && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	memset(copied, 'X', LARGE);
	for (int i = 0; i < MESSAGES; i++) {
		char head[256];
		struct outbox_message message = {.part[0] = {head, 1 + tap_rand(&seed) % 255}};

		memset(head, 'A' + i % 26, sizeof(head));
		switch (tap_rand(&seed) % 3) {
		case 0:
			message.shared = body;
			break;
		case 1:
			message.part[1] = (struct iovec){copied, tap_rand(&seed) % (LARGE / 16)};
		}
		is_int(outbox_send(&box, pair[0], &message), 0);
		n_sent += put(sent + n_sent, &message);
		if (tap_rand(&seed) % 2) {
			n_got += take(pair[1], got + n_got, tap_rand(&seed) % (LARGE / 32));
			is_int(outbox_flush(&box, pair[0]), 0);
		}
	}
	ok(box.bytes > 0 && body->n_holders > 1);
	while (n_got < n_sent) {
		size_t n = take(pair[1], got + n_got, n_sent - n_got);

		is_int(outbox_flush(&box, pair[0]), 0);
		must(n || box.bytes);
		n_got += n;
	}
	is_int(box.bytes, 0);
	ok(!memcmp(sent, got, n_sent));
	is_int(body->n_holders, 1);
	shared_release(body);
	close(pair[0]);
	close(pair[1]);
	free(sent);
	free(got);
	free(copied);
}

/*
 * Bytes in clear that wait go in clear, and first; the opening comes between them and all records.
 */
TAP_TEST(outbox_seal__behind_what_waits)
{
	char clear[] = "in clear", sealed[] = "sealed", got[256], plain[256];
	struct outbox_message first = {.part[0] = {clear, 8}}, second = {.part[0] = {sealed, 6}};
	unsigned char opening[2][SEAL_OPENING_BYTES];
	size_t size, n, used, at = 8;
	struct seal_keys keys[2];
	struct outbox box = {0};
	struct seal seal[2];
	int pair[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	must(!seal_keys_make(&keys[0]) && !seal_keys_make(&keys[1]));
	is_int(seal_begin(&seal[0], &keys[0], keys[1].public, false, SEAL_XCHACHA20, opening[0]),
	       0);
	is_int(seal_begin(&seal[1], &keys[1], keys[0].public, true, SEAL_XCHACHA20, opening[1]), 0);
	is_int(outbox_send(&box, -1, &first), 0);
	is_int(outbox_seal(&box, &seal[0], opening[0]), 0);
	is_int(box.bytes, 8 + SEAL_OPENING_BYTES);
	is_int(outbox_send(&box, pair[0], &second), 0);
	is_int(box.bytes, 8 + SEAL_OPENING_BYTES + 6);
	is_int(outbox_flush(&box, pair[0]), 0);
	is_int(box.bytes, 0);
	size = take(pair[1], got, sizeof(got));
	is_int(size, 8 + SEAL_OPENING_BYTES + SEAL_EXTRA_BYTES + 6);
	is_mem(got, clear, 8);
	is_int(seal_pull(&seal[1], got + at, size - at, plain, &n, &used), 1);
	at += used;
	is_int(seal_pull(&seal[1], got + at, size - at, plain, &n, &used), 1);
	is_int(n, 6);
	is_mem(plain, sealed, 6);
	outbox_clear(&box);
	close(pair[0]);
	close(pair[1]);
}

TAP_TEST(outbox_send__shared_to_who_is_gone)
{
	struct outbox box = {0};
	struct shared *body = letters(LARGE);
	char head[] = "head";
	struct outbox_message message = {.part[0] = {head, 4}, .shared = body};
	int pair[2];

	must(body && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	is_int(outbox_send(&box, pair[0], &message), 0);
	is_int(body->n_holders, 2);
	close(pair[1]);
	is_int(outbox_flush(&box, pair[0]), -EPIPE);
	outbox_clear(&box);
	is_int(body->n_holders, 1);
	close(pair[0]);
	shared_release(body);
}
