// SPDX-License-Identifier: BSD-3-Clause
/* seal - see seal.h. All cryptography is libsodium's. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "scheduler/proto/seal.h"

#define LENGTH_BYTES 4
#define ABYTES crypto_secretstream_xchacha20poly1305_ABYTES
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

int seal_begin(struct seal *seal, const struct seal_keys *mine,
	       const unsigned char theirs[SEAL_KEY_BYTES], bool is_listener,
	       unsigned char opening[SEAL_OPENING_BYTES])
{
	unsigned char push_key[crypto_kx_SESSIONKEYBYTES];
	int err;

	*seal = (struct seal){0};
	err = is_listener ? crypto_kx_server_session_keys(seal->pull_key, push_key, mine->public,
							  mine->secret, theirs)
			  : crypto_kx_client_session_keys(seal->pull_key, push_key, mine->public,
							  mine->secret, theirs);
	if (!err)
		err = crypto_secretstream_xchacha20poly1305_init_push(&seal->push, opening,
								      push_key);
	sodium_memzero(push_key, sizeof(push_key));
	return err ? -EPROTO : 0;
}

void seal_forget(struct seal *seal)
{
	sodium_memzero(seal, sizeof(*seal));
}

size_t seal_push(struct seal *seal, char *to, const char *from, size_t size, bool is_last)
{
	uint32_t be = htonl((uint32_t)(size + ABYTES));

	memcpy(to, &be, sizeof(be));
	(void)crypto_secretstream_xchacha20poly1305_push(&seal->push,
							 (unsigned char *)to + LENGTH_BYTES, NULL,
							 (const unsigned char *)from, size, NULL, 0,
							 is_last ? TAG_LAST : 0);
	return LENGTH_BYTES + size + ABYTES;
}

static int pull_opening(struct seal *seal, const char *data, size_t size, size_t *used)
{
	int err;

	if (size < SEAL_OPENING_BYTES)
		return 0;
	err = crypto_secretstream_xchacha20poly1305_init_pull(
		&seal->pull, (const unsigned char *)data, seal->pull_key);
	sodium_memzero(seal->pull_key, sizeof(seal->pull_key));
	if (err)
		return -EBADMSG;
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
	unsigned char tag;
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
	if (crypto_secretstream_xchacha20poly1305_pull(&seal->pull, (unsigned char *)to, NULL, &tag,
						       (const unsigned char *)data + LENGTH_BYTES,
						       length, NULL, 0))
		return -EBADMSG;
	seal->is_ended = tag == TAG_LAST;
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
