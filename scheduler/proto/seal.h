/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal - the bytes of one connection in records that nobody on the way can read, alter, repeat,
 * reorder or leave out unnoticed. Keys are agreed on by libsodium's crypto_kx (X25519), and live as
 * long as the connection. The handshake says whose public key it is, and which cipher both sides
 * have. Pure: bytes in, bytes out.
 *
 *   opening  SEAL_OPENING_BYTES, once in each direction, before all records
 *   record   4 bytes length of the rest, big endian; then what the cipher makes of up to SEAL_PLAIN_MAX bytes
 *
 * xchacha20poly1305: opening and records are those of libsodium's secretstream. Everybody has it.
 * aes256gcm (aesgcm.h), where both processors have instructions for it: the opening is random, and
 * with it the key of the direction is BLAKE2b of the opening, keyed by that of crypto_kx. A record
 * is one byte mark (1 = the last record, else 0), the cipher text and its tag. The nonce is the
 * number of the record, from 0 on, in 12 bytes, big endian; the mark is authenticated.
 *
 * The last record of a direction says that it is the last one: a connection that ends without it
 * was cut, or the program at its other end was killed.
 */
#ifndef SCHEDULER_PROTO_SEAL_H
#define SCHEDULER_PROTO_SEAL_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/aesgcm.h"

#define SEAL_KEY_BYTES crypto_kx_PUBLICKEYBYTES
#define SEAL_KEY_HEX (2 * SEAL_KEY_BYTES + 1)
#define SEAL_OPENING_BYTES crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define SEAL_EXTRA_BYTES (4 + crypto_secretstream_xchacha20poly1305_ABYTES) /* of a record */
#define SEAL_PLAIN_MAX (64u << 10)                                          /* in one record */
#define SEAL_RECORD_MAX (SEAL_PLAIN_MAX + SEAL_EXTRA_BYTES)

/* One side's keys of one connection. */
struct seal_keys {
	unsigned char public[SEAL_KEY_BYTES];
	unsigned char secret[crypto_kx_SECRETKEYBYTES];
};

enum seal_cipher {
	SEAL_XCHACHA20,
	SEAL_AES256,
};

/* One direction. */
union seal_way {
	crypto_secretstream_xchacha20poly1305_state stream;
	struct {
		unsigned char key[AESGCM_KEY_BYTES];
		uint64_t number; /* of the next record */
	} gcm;
};

/* Both directions of one side. Holds no pointer: a copy of its bytes goes on in another process. */
struct seal {
	enum seal_cipher cipher;
	union seal_way push, pull;
	unsigned char pull_key[crypto_kx_SESSIONKEYBYTES]; /* until the opening has come */
	bool is_open;                                      /* the other side's opening has come */
	bool is_ended;                                     /* its last record has come */
};

/* Of this process. */
struct seal_counts {
	/* connections that ended by a record that is not the next one as it was sent */
	uint64_t altered;
};

/* 0; -EIO: libsodium can't be used here. */
int seal_keys_make(struct seal_keys *keys);
void seal_keys_forget(struct seal_keys *keys);
/* Hexadecimal digits in lower case. -EPROTO: anything else. */
void seal_key_text(char to[SEAL_KEY_HEX], const unsigned char key[SEAL_KEY_BYTES]);
int seal_key_read(unsigned char to[SEAL_KEY_BYTES], const char *text);

/* The best one that this host has. */
enum seal_cipher seal_cipher_best(void);
const char *seal_cipher_name(enum seal_cipher cipher);
/* -EPROTO: @text names none. */
int seal_cipher_read(enum seal_cipher *to, const char *text);

/*
 * @opening is to be sent first. -EPROTO: no keys come of @theirs, which nobody makes by accident.
 */
int seal_begin(struct seal *seal, const struct seal_keys *mine,
	       const unsigned char theirs[SEAL_KEY_BYTES], bool is_listener,
	       enum seal_cipher cipher, unsigned char opening[SEAL_OPENING_BYTES]);
void seal_forget(struct seal *seal);

/*
 * Makes a record of at most SEAL_PLAIN_MAX bytes. @to has room for SEAL_EXTRA_BYTES more; the bytes
 * of the record.
 */
size_t seal_push(struct seal *seal, char *to, const char *from, size_t size, bool is_last);
/*
 * Takes the opening or one record from the @size bytes at @data. 1 = @used bytes are done with, and
 * @n bytes of it are at @to, which has room for @size. 0 = more bytes are needed. -EBADMSG = this
 * is not what was sent next.
 */
int seal_pull(struct seal *seal, const char *data, size_t size, char *to, size_t *n, size_t *used);
/*
 * Bytes of the opening or the record at @data, all included, as far as is known; never more than
 * SEAL_RECORD_MAX.
 */
size_t seal_wants(const struct seal *seal, const char *data, size_t size);

struct seal_counts *seal_counts(void);

#endif
