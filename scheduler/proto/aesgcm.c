// SPDX-License-Identifier: BSD-3-Clause
/* aesgcm - see aesgcm.h. libsodium does all that libcrypto does not do, for whatever reason. */
#include "scheduler/proto/aesgcm.h"

#include <dlfcn.h>
#include <errno.h>
#include <sodium.h>
#include <stdint.h>

#define LIBRARY "libcrypto.so.3"
#define LONG_MIN_BYTES (8u << 10) /* from here on libcrypto's way is worth its beginning */
/* Of OpenSSL's headers, which are not needed to build. */
#define NO_LOAD_CONFIG 0x80
#define NO_ATEXIT 0x80000
#define CTRL_GET_TAG 0x10
#define CTRL_SET_TAG 0x11

struct evp {
	int (*init)(uint64_t options, const void *settings);
	void *(*context)(void);
	const void *(*cipher)(void);
	int (*begin)(void *ctx, const void *cipher, void *engine, const unsigned char *key,
		     const unsigned char *nonce, int closes);
	int (*update)(void *ctx, unsigned char *to, int *n, const unsigned char *from, int size);
	int (*end)(void *ctx, unsigned char *to, int *n);
	int (*control)(void *ctx, int what, int size, void *data);
	/*
	 * the one of this process: a program has one thread that seals. NULL = there is no
	 * libcrypto
	 */
	void *ctx;
};

static struct evp evp;

static bool find_all(void *library)
{
	const struct {
		void *to;
		const char *name;
	} symbols[] = {
		{&evp.init, "OPENSSL_init_crypto"},    {&evp.context, "EVP_CIPHER_CTX_new"},
		{&evp.cipher, "EVP_aes_256_gcm"},      {&evp.begin, "EVP_CipherInit_ex"},
		{&evp.update, "EVP_CipherUpdate"},     {&evp.end, "EVP_CipherFinal_ex"},
		{&evp.control, "EVP_CIPHER_CTX_ctrl"},
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		*(void **)symbols[i].to = dlsym(library, symbols[i].name);
		if (!*(void **)symbols[i].to)
			return false;
	}
	return true;
}

static bool has_libcrypto(void)
{
	static bool is_tried;
	void *library;

	if (is_tried)
		return evp.ctx;
	is_tried = true;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library || !find_all(library) || evp.init(NO_LOAD_CONFIG | NO_ATEXIT, NULL) <= 0)
		return false;
	evp.ctx = evp.context();
	return evp.ctx && evp.begin(evp.ctx, evp.cipher(), NULL, NULL, NULL, 1) > 0;
}

static bool close_long(unsigned char *to, const unsigned char *from, size_t size,
		       unsigned char mark, const unsigned char *nonce, const unsigned char *key)
{
	int n;

	return has_libcrypto() && evp.begin(evp.ctx, NULL, NULL, key, nonce, 1) > 0 &&
	       evp.update(evp.ctx, NULL, &n, &mark, 1) > 0 &&
	       evp.update(evp.ctx, to, &n, from, (int)size) > 0 &&
	       evp.end(evp.ctx, to + size, &n) > 0 &&
	       evp.control(evp.ctx, CTRL_GET_TAG, AESGCM_TAG_BYTES, to + size) > 0;
}

static bool open_long(unsigned char *to, const unsigned char *from, size_t size, unsigned char mark,
		      const unsigned char *nonce, const unsigned char *key)
{
	unsigned char *tag = (unsigned char *)(uintptr_t)from + size;
	int n;

	return has_libcrypto() && evp.begin(evp.ctx, NULL, NULL, key, nonce, 0) > 0 &&
	       evp.update(evp.ctx, NULL, &n, &mark, 1) > 0 &&
	       evp.update(evp.ctx, to, &n, from, (int)size) > 0 &&
	       evp.control(evp.ctx, CTRL_SET_TAG, AESGCM_TAG_BYTES, tag) > 0 &&
	       evp.end(evp.ctx, to + size, &n) > 0;
}

bool aesgcm_is_there(void)
{
	return sodium_init() >= 0 && crypto_aead_aes256gcm_is_available();
}

void aesgcm_close(unsigned char *to, const unsigned char *from, size_t size, unsigned char mark,
		  const unsigned char nonce[AESGCM_NONCE_BYTES],
		  const unsigned char key[AESGCM_KEY_BYTES])
{
	if (size < LONG_MIN_BYTES || !close_long(to, from, size, mark, nonce, key))
		(void)crypto_aead_aes256gcm_encrypt(to, NULL, from, size, &mark, 1, NULL, nonce,
						    key);
}

int aesgcm_open(unsigned char *to, const unsigned char *from, size_t size, unsigned char mark,
		const unsigned char nonce[AESGCM_NONCE_BYTES],
		const unsigned char key[AESGCM_KEY_BYTES])
{
	size_t plain = size - AESGCM_TAG_BYTES;

	if (size < AESGCM_TAG_BYTES)
		return -EBADMSG;
	if (plain >= LONG_MIN_BYTES && open_long(to, from, plain, mark, nonce, key))
		return 0;
	return crypto_aead_aes256gcm_decrypt(to, NULL, NULL, from, size, &mark, 1, nonce, key)
		       ? -EBADMSG
		       : 0;
}

void aesgcm_forget(void)
{
	static const unsigned char none[AESGCM_KEY_BYTES];

	if (evp.ctx)
		(void)evp.begin(evp.ctx, NULL, NULL, none, none, 1);
}
