/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aesgcm - AES-256-GCM, on processors that have instructions for it. libsodium has it everywhere;
 * OpenSSL's libcrypto does long records twice as fast, and is loaded when the first of them comes,
 * as loading it takes milliseconds: a program that says little starts without it. Where it is not
 * installed, libsodium does them as well. Pure: bytes in, bytes out.
 */
#ifndef SCHEDULER_PROTO_AESGCM_H
#define SCHEDULER_PROTO_AESGCM_H

#include <stdbool.h>
#include <stddef.h>

#define AESGCM_KEY_BYTES 32
#define AESGCM_NONCE_BYTES 12 /* never twice with one key */
#define AESGCM_TAG_BYTES 16

/* Whether this processor has the instructions. */
bool aesgcm_is_there(void);
/*
 * Makes @size + AESGCM_TAG_BYTES bytes at @to; @mark is authenticated as well, and does not lie in
 * them.
 */
void aesgcm_close(unsigned char *to, const unsigned char *from, size_t size, unsigned char mark,
		  const unsigned char nonce[AESGCM_NONCE_BYTES],
		  const unsigned char key[AESGCM_KEY_BYTES]);
/*
 * The other way: @size bytes with their tag. 0; -EBADMSG: they are not what aesgcm_close() made of
 * these.
 */
int aesgcm_open(unsigned char *to, const unsigned char *from, size_t size, unsigned char mark,
		const unsigned char nonce[AESGCM_NONCE_BYTES],
		const unsigned char key[AESGCM_KEY_BYTES]);
/* No key is left here. */
void aesgcm_forget(void);

#endif
