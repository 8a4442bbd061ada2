// SPDX-License-Identifier: BSD-3-Clause
/* seal - see seal.h. Nothing is computed here: that is done by libsodium, and by aesgcm. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "scheduler/proto/seal.h"

#define LENGTH_BYTES 4
#define ABYTES crypto_secretstream_xchacha20poly1305_ABYTES
_Static_assert(ABYTES == 1 + AESGCM_TAG_BYTES, "records of both ciphers have one size");
#define MARK_LAST 1 /* of aes256gcm */
#define TAG_LAST crypto_secretstream_xchacha20poly1305_TAG_FINAL

int seal_keys_make(struct seal_keys *keys)
{
	if (sodium_init() < 0 || crypto_kx_keypair(keys->public, keys->secret))
		return -EIO;
	return 0;
}

void seal_keys_forget(struct seal_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}

void seal_key_text(char to[SEAL_KEY_HEX], const unsigned char key[SEAL_KEY_BYTES])
{
	sodium_bin2hex(to, SEAL_KEY_HEX, key, SEAL_KEY_BYTES);
}

int seal_key_read(unsigned char to[SEAL_KEY_BYTES], const char *text)
{
	size_t size;

	if (strlen(text) != SEAL_KEY_HEX - 1 ||
	    strspn(text, "0123456789abcdef") != SEAL_KEY_HEX - 1 ||
	    sodium_hex2bin(to, SEAL_KEY_BYTES, text, SEAL_KEY_HEX - 1, NULL, &size, NULL) ||
	    size != SEAL_KEY_BYTES)
		return -EPROTO;
	return 0;
}

/*
 * --- the cipher ---------------------------------------------------------------------------------
 */

static const char *const names[] = {
	[SEAL_XCHACHA20] = "xchacha20poly1305",
	[SEAL_AES256] = "aes256gcm",
};

enum seal_cipher seal_cipher_best(void)
{
	return aesgcm_is_there() ? SEAL_AES256 : SEAL_XCHACHA20;
}

const char *seal_cipher_name(enum seal_cipher cipher)
{
	return names[cipher];
}

int seal_cipher_read(enum seal_cipher *to, const char *text)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*to = (enum seal_cipher)i;
			return 0;
		}
	}
	return -EPROTO;
}

static void nonce_of(unsigned char to[AESGCM_NONCE_BYTES], uint64_t number)
{
	uint64_t be = htobe64(number);

	memset(to, 0, AESGCM_NONCE_BYTES);
	memcpy(to + AESGCM_NONCE_BYTES - sizeof(be), &be, sizeof(be));
}

static void begin_gcm(union seal_way *way, const unsigned char opening[SEAL_OPENING_BYTES],
		      const unsigned char key[crypto_kx_SESSIONKEYBYTES])
{
	way->gcm.number = 0;
	(void)crypto_generichash(way->gcm.key, sizeof(way->gcm.key), opening, SEAL_OPENING_BYTES,
				 key, crypto_kx_SESSIONKEYBYTES);
}

static void begin_push(struct seal *seal, unsigned char opening[SEAL_OPENING_BYTES],
		       const unsigned char key[crypto_kx_SESSIONKEYBYTES])
{
	if (seal->cipher == SEAL_AES256) {
		randombytes_buf(opening, SEAL_OPENING_BYTES);
		begin_gcm(&seal->push, opening, key);
	} else {
		(void)crypto_secretstream_xchacha20poly1305_init_push(&seal->push.stream, opening,
								      key);
	}
}

static int begin_pull(struct seal *seal, const unsigned char opening[SEAL_OPENING_BYTES])
{
	if (seal->cipher == SEAL_AES256) {
		begin_gcm(&seal->pull, opening, seal->pull_key);
		return 0;
	}
	return crypto_secretstream_xchacha20poly1305_init_pull(&seal->pull.stream, opening,
							       seal->pull_key)
		       ? -EBADMSG
		       : 0;
}

/* Makes @size + ABYTES bytes at @to. */
static void push_one(struct seal *seal, unsigned char *to, const unsigned char *from, size_t size,
		     bool is_last)
{
	unsigned char nonce[AESGCM_NONCE_BYTES];

	if (seal->cipher == SEAL_AES256) {
		nonce_of(nonce, seal->push.gcm.number++);
		*to = is_last ? MARK_LAST : 0;
		aesgcm_close(to + 1, from, size, *to, nonce, seal->push.gcm.key);
	} else {
		(void)crypto_secretstream_xchacha20poly1305_push(
			&seal->push.stream, to, NULL, from, size, NULL, 0, is_last ? TAG_LAST : 0);
	}
}

/* Of the @length bytes of a record. */
static int pull_one(struct seal *seal, unsigned char *to, const unsigned char *from, size_t length)
{
	unsigned char nonce[AESGCM_NONCE_BYTES], tag;

	if (seal->cipher == SEAL_AES256) {
		nonce_of(nonce, seal->pull.gcm.number);
		if (*from > MARK_LAST ||
		    aesgcm_open(to, from + 1, length - 1, *from, nonce, seal->pull.gcm.key))
			return -EBADMSG;
		seal->pull.gcm.number++;
		seal->is_ended = *from == MARK_LAST;
		return 0;
	}
	if (crypto_secretstream_xchacha20poly1305_pull(&seal->pull.stream, to, NULL, &tag, from,
						       length, NULL, 0))
		return -EBADMSG;
	seal->is_ended = tag == TAG_LAST;
	return 0;
}

/*
 * --- a connection -------------------------------------------------------------------------------
 */

int seal_begin(struct seal *seal, const struct seal_keys *mine,
	       const unsigned char theirs[SEAL_KEY_BYTES], bool is_listener,
	       enum seal_cipher cipher, unsigned char opening[SEAL_OPENING_BYTES])
{
	unsigned char push_key[crypto_kx_SESSIONKEYBYTES];
	int err;

	*seal = (struct seal){.cipher = cipher};
	err = is_listener ? crypto_kx_server_session_keys(seal->pull_key, push_key, mine->public,
							  mine->secret, theirs)
			  : crypto_kx_client_session_keys(seal->pull_key, push_key, mine->public,
							  mine->secret, theirs);
	if (!err)
		begin_push(seal, opening, push_key);
	sodium_memzero(push_key, sizeof(push_key));
	return err ? -EPROTO : 0;
}

void seal_forget(struct seal *seal)
{
	if (seal->cipher == SEAL_AES256)
		aesgcm_forget();
	sodium_memzero(seal, sizeof(*seal));
}

size_t seal_push(struct seal *seal, char *to, const char *from, size_t size, bool is_last)
{
	uint32_t be = htonl((uint32_t)(size + ABYTES));

	memcpy(to, &be, sizeof(be));
	push_one(seal, (unsigned char *)to + LENGTH_BYTES, (const unsigned char *)from, size,
		 is_last);
	return LENGTH_BYTES + size + ABYTES;
}

static int pull_opening(struct seal *seal, const char *data, size_t size, size_t *used)
{
	int err;

	if (size < SEAL_OPENING_BYTES)
		return 0;
	err = begin_pull(seal, (const unsigned char *)data);
	sodium_memzero(seal->pull_key, sizeof(seal->pull_key));
	if (err)
		return err;
	seal->is_open = true;
	*used = SEAL_OPENING_BYTES;
	return 1;
}

static size_t length_of(const char *data)
{
	uint32_t be;

	memcpy(&be, data, sizeof(be));
	return ntohl(be);
}

int seal_pull(struct seal *seal, const char *data, size_t size, char *to, size_t *n, size_t *used)
{
	size_t length;

	*n = 0;
	if (!seal->is_open)
		return pull_opening(seal, data, size, used);
	if (size < LENGTH_BYTES)
		return 0;
	length = length_of(data);
	if (seal->is_ended || length < ABYTES || length > SEAL_PLAIN_MAX + ABYTES)
		return -EBADMSG;
	if (size - LENGTH_BYTES < length)
		return 0;
	if (pull_one(seal, (unsigned char *)to, (const unsigned char *)data + LENGTH_BYTES, length))
		return -EBADMSG;
	*n = length - ABYTES;
	*used = LENGTH_BYTES + length;
	return 1;
}

size_t seal_wants(const struct seal *seal, const char *data, size_t size)
{
	size_t length;

	if (!seal->is_open)
		return SEAL_OPENING_BYTES;
	if (size < LENGTH_BYTES)
		return LENGTH_BYTES;
	length = LENGTH_BYTES + length_of(data);
	return length < SEAL_RECORD_MAX ? length : SEAL_RECORD_MAX;
}

struct seal_counts *seal_counts(void)
{
	static struct seal_counts counts;

	return &counts;
}
