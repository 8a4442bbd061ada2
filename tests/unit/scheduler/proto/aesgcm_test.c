// SPDX-License-Identifier: BSD-3-Clause
/* aesgcm: short and long records, which two libraries make, are those of libsodium. */
#include "scheduler/proto/aesgcm.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "tests/harness/tap.h"

#define LONGEST (64u << 10)

static const unsigned char key[AESGCM_KEY_BYTES] = "a key of thirty-two bytes";
static const unsigned char nonce[AESGCM_NONCE_BYTES] = "nonce";
static const size_t sizes[] = {0, 1, 4096, 8191, 8192, LONGEST};
static unsigned char plain[LONGEST], closed[LONGEST + AESGCM_TAG_BYTES], opened[LONGEST];

static bool is_missing(void)
{
	if (aesgcm_is_there())
		return false;
	tap_skip("this processor has no instructions for AES");
	return true;
}

TAP_TEST(aesgcm_close__as_libsodium_does_it)
{
	static unsigned char theirs[sizeof(closed)];
	unsigned char mark = 1;

	if (is_missing())
		return;
	randombytes_buf(plain, sizeof(plain));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		crypto_aead_aes256gcm_encrypt(theirs, NULL, plain, sizes[i], &mark, 1, NULL, nonce,
					      key);
		aesgcm_close(closed, plain, sizes[i], mark, nonce, key);
		is_mem(closed, theirs, sizes[i] + AESGCM_TAG_BYTES);
		memset(opened, 0, sizeof(opened));
		is_int(aesgcm_open(opened, closed, sizes[i] + AESGCM_TAG_BYTES, mark, nonce, key),
		       0);
		is_mem(opened, plain, sizes[i]);
		aesgcm_forget();
	}
}

TAP_TEST(aesgcm_open__altered)
{
	unsigned char other[AESGCM_NONCE_BYTES] = "other";

	if (is_missing())
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i] + AESGCM_TAG_BYTES;

		aesgcm_close(closed, plain, sizes[i], 0, nonce, key);
		is_int(aesgcm_open(opened, closed, size, 1, nonce, key), -EBADMSG);
		is_int(aesgcm_open(opened, closed, size, 0, other, key), -EBADMSG);
		is_int(aesgcm_open(opened, closed, size - 1, 0, nonce, key), -EBADMSG);
		for (size_t at = 0; at < size; at += size / 7 + 1) {
			closed[at] ^= 0x10;
			is_int(aesgcm_open(opened, closed, size, 0, nonce, key), -EBADMSG);
			closed[at] ^= 0x10;
		}
		is_int(aesgcm_open(opened, closed, size, 0, nonce, key), 0);
	}
	is_int(aesgcm_open(opened, closed, AESGCM_TAG_BYTES - 1, 0, nonce, key), -EBADMSG);
}
