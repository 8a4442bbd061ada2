// SPDX-License-Identifier: BSD-3-Clause
/*
 * handshake - see handshake.h. In the order of time: the listener's hello, the connector's answer
 * with its credential, the listener's welcome with its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/handshake.h"

#define WHY_MAX 640
#define JOB_DIGITS_MAX 20
#define CIPHER_NAME_MAX 20
#define PAYLOAD_MAX                                                                                \
	(HANDSHAKE_ROLE_MAX + JOB_DIGITS_MAX + 2 * AUTH_NONCE_HEX + SEAL_KEY_HEX +                 \
	 CIPHER_NAME_MAX + NETADDR_TEXT_MAX + 16)

__attribute__((format(printf, 3, 4))) static void fail(struct handshake *hs, int error,
						       const char *fmt, ...)
{
	char why[WHY_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	hs->events->failed(error, why, hs->owner);
}

/* Tells the other side as well. */
__attribute__((format(printf, 3, 4))) static void refuse(struct handshake *hs, int error,
							 const char *fmt, ...)
{
	char why[WHY_MAX];
	va_list args;
	json_t *head;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	head = json_pack("{s:s, s:s}", "op", "refused", "text", why);
	if (head)
		hs->events->say(head, hs->owner);
	fail(hs, error, "%s: %s", hs->peer, why);
}

static void say(struct handshake *hs, json_t *head)
{
	if (head)
		hs->events->say(head, hs->owner);
	else
		fail(hs, ENOMEM, "%s: no memory for a handshake", hs->peer);
}

static void fail_by(struct handshake *hs, const struct auth_answer *answer)
{
	fail(hs, answer->error, "%s: %s", hs->peer, answer->why);
}

/* The payload of the credential that the listener makes, or of the one that the connector makes. */
static void payload(const struct handshake *hs, char to[PAYLOAD_MAX], bool is_of_listener)
{
	const char *first = is_of_listener == hs->is_listener ? hs->theirs : hs->mine;
	const char *second = is_of_listener == hs->is_listener ? hs->mine : hs->theirs;
	char key[SEAL_KEY_HEX];

	seal_key_text(key, is_of_listener == hs->is_listener ? hs->keys.public : hs->their_key);
	snprintf(to, PAYLOAD_MAX, "%s %s %" PRIu64 " %s %s %s %s %s",
		 is_of_listener ? "accept" : "connect", hs->role, hs->job, first, second, key,
		 seal_cipher_name(is_of_listener ? hs->cipher : hs->offer), hs->listener);
}

static bool is_nonce(const char *text)
{
	return text && strlen(text) == AUTH_NONCE_HEX - 1 &&
	       strspn(text, "0123456789abcdef") == AUTH_NONCE_HEX - 1;
}

static bool is_role(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	return n && n <= HANDSHAKE_ROLE_MAX && strspn(text, "abcdefghijklmnopqrstuvwxyz-") == n;
}

/* @text: of a message, or NULL. */
static bool take_key(struct handshake *hs, const char *text)
{
	return text && !seal_key_read(hs->their_key, text);
}

/* As take_key(). */
static bool take_cipher(enum seal_cipher *to, const char *text)
{
	return text && !seal_cipher_read(to, text);
}

/* Everybody has the first one; the ones that follow are better. */
static enum seal_cipher worse(enum seal_cipher a, enum seal_cipher b)
{
	return a < b ? a : b;
}

static const char *text_of(const json_t *head, const char *name)
{
	return json_string_value(json_object_get(head, name));
}

static bool is_op(const json_t *head, const char *op)
{
	return !strcmp(text_of(head, "op"), op);
}

static bool is_acceptable(const struct handshake *hs, uid_t uid)
{
	return !uid || uid == geteuid() || (hs->expect != (uid_t)-1 && uid == hs->expect);
}

static void expect_task(struct handshake *hs, struct auth_task *task)
{
	hs->task = task;
	if (!task)
		fail(hs, ENOMEM, "%s: no memory for a credential", hs->peer);
}

/* A credential that holds under munge, but says something else than it must here. */
static void explain_payload(struct handshake *hs, const char *got, const char *want)
{
	const char *got_place = strrchr(got, ' '), *want_place = strrchr(want, ' ');

	if (got_place && !strncmp(got, want, (size_t)(want_place - want) + 1))
		refuse(hs, EACCES,
		       "the credential is for%s, and this is%s: connections that are translated or "
		       "passed "
		       "on are not accepted; connect to the address itself",
		       got_place, want_place);
	else
		refuse(hs, EACCES,
		       "the credential was made for another connection, or for another job: "
		       "somebody on the way may alter what is sent");
}

/*
 * --- the listening side -------------------------------------------------------------------------
 */

static void on_welcome_made(const struct auth_answer *answer, void *owner)
{
	struct handshake *hs = owner;
	char key[SEAL_KEY_HEX];

	hs->task = NULL;
	if (answer->error) {
		refuse(hs, answer->error, "%s", answer->why);
		return;
	}
	seal_key_text(key, hs->keys.public);
	say(hs, json_pack("{s:s, s:s, s:s, s:s}", "op", "welcome", "key", key, "cipher",
			  seal_cipher_name(hs->cipher), "credential", answer->text));
	hs->events->done(hs->owner);
}

static void on_caller_read(const struct auth_answer *answer, void *owner)
{
	struct handshake *hs = owner;
	char want[PAYLOAD_MAX];

	hs->task = NULL;
	if (answer->error) {
		refuse(hs, answer->error, "%s", answer->why);
		return;
	}
	payload(hs, want, false);
	if (strcmp(answer->text, want)) {
		explain_payload(hs, answer->text, want);
		return;
	}
	hs->uid = answer->uid;
	hs->gid = answer->gid;
	payload(hs, want, true);
	expect_task(hs, auth_make(hs->auth, want, hs->uid, on_welcome_made, hs));
}

static void hear_as_listener(struct handshake *hs, const json_t *head)
{
	const char *nonce = text_of(head, "nonce"), *role = text_of(head, "role");
	const char *credential = text_of(head, "credential");

	if (!is_op(head, "hello") || !is_nonce(nonce) || !is_role(role) || !credential) {
		refuse(hs, EPROTO, "no hello with nonce, role and credential came first");
		return;
	}
	if (!take_key(hs, text_of(head, "key")) ||
	    !take_cipher(&hs->offer, text_of(head, "cipher"))) {
		refuse(hs, EPROTO,
		       "the hello has no key and cipher to seal what follows; both sides must be "
		       "of one "
		       "version "
		       "of OpenSCore");
		return;
	}
	hs->cipher = worse(hs->offer, seal_cipher_best());
	strcpy(hs->theirs, nonce);
	strcpy(hs->role, role);
	expect_task(hs, auth_read(hs->auth, credential, &hs->from, on_caller_read, hs));
}

/*
 * --- the side that connected --------------------------------------------------------------------
 */

static void on_listener_read(const struct auth_answer *answer, void *owner)
{
	struct handshake *hs = owner;
	char want[PAYLOAD_MAX];

	hs->task = NULL;
	payload(hs, want, true);
	if (answer->error)
		fail_by(hs, answer);
	else if (strcmp(answer->text, want))
		fail(hs, EACCES, "%s: its credential was made for another connection", hs->peer);
	else if (!is_acceptable(hs, answer->uid))
		fail(hs, EACCES,
		     "%s: user %u answers there, who is neither root nor you: stop that program, "
		     "and "
		     "start the daemon",
		     hs->peer, (unsigned int)answer->uid);
	else {
		hs->uid = answer->uid;
		hs->gid = answer->gid;
		hs->events->done(hs->owner);
	}
}

static void on_hello_made(const struct auth_answer *answer, void *owner)
{
	struct handshake *hs = owner;
	char key[SEAL_KEY_HEX];

	hs->task = NULL;
	if (answer->error) {
		fail_by(hs, answer);
		return;
	}
	hs->is_said = true;
	seal_key_text(key, hs->keys.public);
	say(hs, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "op", "hello", "nonce", hs->mine,
			  "role", hs->role, "key", key, "cipher", seal_cipher_name(hs->offer),
			  "credential", answer->text));
}

static void hear_hello(struct handshake *hs, const json_t *head)
{
	const json_t *uid = json_object_get(head, "uid");
	const char *nonce = text_of(head, "nonce");
	char text[PAYLOAD_MAX];

	if (!is_op(head, "hello") || !is_nonce(nonce) || !json_is_integer(uid) ||
	    json_integer_value(uid) < 0 || json_integer_value(uid) >= (json_int_t)(uid_t)-1) {
		fail(hs, EPROTO, "%s: what listens there does not speak as a daemon of OpenSCore",
		     hs->peer);
		return;
	}
	hs->uid = (uid_t)json_integer_value(uid);
	if (!is_acceptable(hs, hs->uid)) {
		fail(hs, EACCES,
		     "%s: a program of user %u listens there, who is neither root nor you: stop "
		     "it, "
		     "and start the daemon",
		     hs->peer, (unsigned int)hs->uid);
		return;
	}
	strcpy(hs->theirs, nonce);
	payload(hs, text, false);
	expect_task(hs, auth_make(hs->auth, text, hs->uid, on_hello_made, hs));
}

static void hear_as_connector(struct handshake *hs, const json_t *head)
{
	const char *credential = text_of(head, "credential"), *text = text_of(head, "text");

	if (is_op(head, "refused"))
		fail(hs, EACCES, "%s refuses us: %s", hs->peer,
		     text ? text : "it does not say why");
	else if (!hs->is_said)
		hear_hello(hs, head);
	else if (!is_op(head, "welcome") || !credential || !take_key(hs, text_of(head, "key")) ||
		 !take_cipher(&hs->cipher, text_of(head, "cipher")) ||
		 hs->cipher != worse(hs->cipher, hs->offer))
		fail(hs, EPROTO, "%s: what listens there does not speak as a daemon of OpenSCore",
		     hs->peer);
	else
		expect_task(hs, auth_read(hs->auth, credential, NULL, on_listener_read, hs));
}

/*
 * --- both ---------------------------------------------------------------------------------------
 */

void handshake_begin(struct handshake *hs)
{
	int err = auth_nonce(hs->mine);

	hs->offer = seal_cipher_best();
	if (err)
		fail(hs, -err, "no random numbers: %s", strerror(-err));
	else if (seal_keys_make(&hs->keys))
		fail(hs, EIO, "no keys: libsodium can't be used on this host");
	else if (hs->is_listener)
		say(hs, json_pack("{s:s, s:s, s:I}", "op", "hello", "nonce", hs->mine, "uid",
				  (json_int_t)geteuid()));
}

void handshake_hear(struct handshake *hs, const json_t *head)
{
	if (hs->is_listener)
		hear_as_listener(hs, head);
	else
		hear_as_connector(hs, head);
}

bool handshake_is_busy(const struct handshake *hs)
{
	return hs->task != NULL;
}

void handshake_end(struct handshake *hs)
{
	if (hs->task)
		auth_forget(hs->task);
	hs->task = NULL;
	seal_keys_forget(&hs->keys);
}
