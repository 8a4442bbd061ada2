// SPDX-License-Identifier: BSD-3-Clause
/*
 * conf - the parser that lays "key=value,..." over a struct conf. Keys, ranges and defaults are
 * those of configs/options.def. Refuses to know where the text came from and whether a named
 * device, interface or file exists.
 */
#include "pmcore/util/conf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ITEM_MAX 512 /* bytes of one key=value, terminator included */

/* How a value is read. */
enum kind {
	NUMBER,
	POWER,
	BYTES,
	POWER_BYTES,
	MILLISECONDS,
	MICROSECONDS,
	SWITCH,
	TEXT,
	PATH,
	SOCKET,
	CHOICE,
	DEVICES,
	RAILS,
	INTERFACES,
	PORTS
};

/* One option. */
struct key {
	const char *name;
	enum kind kind;
	size_t offset;            /* of the field in struct conf */
	size_t room;              /* bytes of the field, for text and numbers */
	const char *value;        /* the default; NULL leaves what conf_defaults begins with */
	uint64_t min, max;        /* range of a number, both ends allowed */
	const char *zero;         /* what 0 means, which is allowed below min; or NULL */
	const char *const *words; /* of a choice, in the order of its enum, NULL at the end */
};

#define OPTION(key, how, field, scope, text, ...)                                                  \
	{.name = key,                                                                              \
	 .kind = how,                                                                              \
	 .offset = offsetof(struct conf, field),                                                   \
	 .room = sizeof(((struct conf *)0)->field),                                                \
	 .value = text,                                                                            \
	 __VA_ARGS__},
#define RANGE(least, most) .min = least, .max = most
#define ZERO(meaning) .zero = meaning
#define WORDS(...)                                                                                 \
	.words = (const char *const[])                                                             \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static const struct key keys[] = {
#include "configs/options.def"
};
#undef OPTION
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* Initial credits of a job: so many of all its nodes together, but for each at least these. */
#define CREDIT_OF_ALL 8192
#define CREDIT_MIN 4

/* The item being parsed, the result so far, and room for an error message. */
struct parse {
	struct conf conf;      /* the result so far */
	const struct key *key; /* of the current item */
	const char *value;     /* its text */
	char *why;             /* the caller's room for a sentence */
	size_t why_size;       /* bytes */
	bool has_window;       /* channel.window was in the text */
	bool has_credit;       /* channel.credit was in the text */
};

/* Says why the text is refused; gives -EINVAL for the caller to return. */
__attribute__((format(printf, 2, 3))) static int refuse(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int refuse_value(struct parse *p, const char *wanted)
{
	return refuse(p, "option %s=%s: write %s", p->key->name, p->value, wanted);
}

#define OPTION(key, ...) ", " key
static const char known_keys[] =
#include "configs/options.def"
	;
#undef OPTION

static int refuse_key(struct parse *p, const char *name)
{
	return refuse(p, "unknown option \"%s\": write one of %s", name, known_keys + 2);
}

static bool is_in_bytes(const struct key *key)
{
	return key->kind == BYTES || key->kind == POWER_BYTES;
}

static bool is_power(const struct key *key)
{
	return key->kind == POWER || key->kind == POWER_BYTES;
}

static int refuse_number(struct parse *p)
{
	const struct key *key = p->key;
	bool is_from_zero = key->zero && key->min == 1;
	char wanted[128];

	snprintf(wanted, sizeof(wanted), "%s%s from %llu to %llu%s",
		 key->zero && !is_from_zero ? "0 or " : "",
		 is_power(key) ? "a power of two" : "a number",
		 is_from_zero ? 0 : (unsigned long long)key->min, (unsigned long long)key->max,
		 is_in_bytes(key) ? ", in bytes or with K, M or G behind it" : "");
	return refuse_value(p, wanted);
}

/* Decimal digits, then K, M or G where the kind allows it. */
static bool read_number(const char *text, bool has_unit, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t value = 0;
	int shift;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		if (value > UINT64_MAX / 16)
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	if (*text && has_unit) {
		unit = strchr(units, toupper((unsigned char)*text));
		if (!unit)
			return false;
		shift = 10 * (int)(unit - units + 1);
		if (value > UINT64_MAX >> shift)
			return false;
		value <<= shift;
		text++;
	}
	*ret = value;
	return !*text;
}

static int set_number(struct parse *p)
{
	const struct key *key = p->key;
	uint64_t value;
	bool is_special;

	if (!read_number(p->value, is_in_bytes(key), &value))
		return refuse_number(p);
	is_special = key->zero && !value;
	if (!is_special && (value < key->min || value > key->max))
		return refuse_number(p);
	if (is_power(key) && (value & (value - 1)))
		return refuse_number(p);
	if (key->room == sizeof(uint64_t))
		*(uint64_t *)((char *)&p->conf + key->offset) = value;
	else
		*(uint32_t *)((char *)&p->conf + key->offset) = (uint32_t)value;
	return 0;
}

static int set_switch(struct parse *p)
{
	if (strcmp(p->value, "0") && strcmp(p->value, "1"))
		return refuse_value(p, "1 or 0");
	*(bool *)((char *)&p->conf + p->key->offset) = p->value[0] == '1';
	return 0;
}

static int set_text(struct parse *p)
{
	char wanted[64];

	if (strlen(p->value) >= p->key->room) {
		snprintf(wanted, sizeof(wanted), "at most %zu characters", p->key->room - 1);
		return refuse_value(p, wanted);
	}
	if (p->key->kind != TEXT && p->value[0] != '/')
		return refuse_value(p, "an absolute path");
	strcpy((char *)&p->conf + p->key->offset, p->value);
	return 0;
}

static int set_choice(struct parse *p)
{
	const char *const *words = p->key->words;
	char wanted[128] = "";
	size_t used = 0;
	int i;

	for (i = 0; words[i]; i++) {
		if (strcmp(p->value, words[i]) == 0) {
			memcpy((char *)&p->conf + p->key->offset, &i, sizeof(i));
			return 0;
		}
		if (used < sizeof(wanted))
			used += snprintf(wanted + used, sizeof(wanted) - used, "%s%s",
					 !i             ? ""
					 : words[i + 1] ? ", "
							: " or ",
					 words[i]);
	}
	return refuse_value(p, wanted);
}

/*
 * Splits the value at "+" into rows of @width bytes. Gives their number, or -EINVAL: an empty,
 * overlong or repeated name, one with a strange character, or more than @max.
 */
static int split(const char *text, char *rows, size_t width, int max)
{
	int n, i;

	for (n = 0; *text; n++) {
		size_t len = strcspn(text, "+");
		char *row = rows + (size_t)n * width;

		if (n == max || !len || len >= width)
			return -EINVAL;
		memcpy(row, text, len);
		row[len] = '\0';
		if (strspn(row, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/"
				"@%-") != len)
			return -EINVAL;
		for (i = 0; i < n; i++)
			if (strcmp(rows + (size_t)i * width, row) == 0)
				return -EINVAL;
		text += len;
		if (*text && !*++text)
			return -EINVAL; /* nothing behind the last "+" */
	}
	return n;
}

static int set_devices(struct parse *p)
{
	char rows[8][CONF_NAME_MAX] = {{0}};
	int n = split(p->value, rows[0], CONF_NAME_MAX, 8);

	if (n < 1)
		return refuse_value(
			p, "1 to 8 different device names with + between, as self+shmem+udp");
	memcpy(p->conf.devices, rows, sizeof(rows));
	p->conf.n_devices = (unsigned int)n;
	return 0;
}

static int set_rails(struct parse *p)
{
	static const char *const wanted[] = {
		[RAILS] = "at most 8 different interfaces or subnets with + between, as "
			  "eth1+10.0.2.0/24",
		[INTERFACES] = "at most 8 different interfaces with + between, as eth1+eth2",
		[PORTS] = "at most 8 different RDMA ports with + between, as mlx5_0:1+mlx5_1:1",
	};
	char rows[CONF_RAILS_MAX][48] = {{0}};
	int n = split(p->value, rows[0], sizeof(rows[0]), CONF_RAILS_MAX);

	if (n < 0)
		return refuse_value(p, wanted[p->key->kind]);
	memcpy((char *)&p->conf + p->key->offset, rows, sizeof(rows));
	if (p->key->kind == RAILS)
		p->conf.n_udp_rails = (unsigned int)n;
	else if (p->key->kind == PORTS)
		p->conf.n_verbs_devices = (unsigned int)n;
	else
		p->conf.n_ethernet_rails = (unsigned int)n;
	return 0;
}

static int set_value(struct parse *p)
{
	switch (p->key->kind) {
	case NUMBER:
	case POWER:
	case BYTES:
	case POWER_BYTES:
	case MILLISECONDS:
	case MICROSECONDS:
		return set_number(p);
	case SWITCH:
		return set_switch(p);
	case TEXT:
	case PATH:
	case SOCKET:
		return set_text(p);
	case CHOICE:
		return set_choice(p);
	case DEVICES:
		return set_devices(p);
	case RAILS:
	case INTERFACES:
	case PORTS:
		return set_rails(p);
	}
	return -EINVAL;
}

void conf_defaults(struct conf *conf)
{
	struct parse p;
	size_t i;
	int rc;

	memset(&p, 0, sizeof(p));
	p.conf.verbs_gid = UINT32_MAX; /* the best: 0 is an entry */
	for (i = 0; i < N_KEYS; i++) {
		p.key = &keys[i];
		p.value = keys[i].value;
		rc = p.value ? set_value(&p) : 0;
		assert(rc == 0);
	}
	*conf = p.conf;
}

static const struct key *find_key(const char *name)
{
	size_t i;

	for (i = 0; i < N_KEYS; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

/* One "key=value"; @item may be written to. */
static int parse_item(struct parse *p, char *item)
{
	char *equals = strchr(item, '=');

	if (!equals)
		return refuse(p, "option \"%s\" has no value: write key=value", item);
	*equals = '\0';
	p->key = find_key(item);
	p->value = equals + 1;
	if (!p->key)
		return refuse_key(p, item);
	p->has_window |= p->key->offset == offsetof(struct conf, window);
	p->has_credit |= p->key->offset == offsetof(struct conf, credit);
	p->conf.is_credit_chosen |= p->has_credit;
	p->conf.has_devices |= p->key->kind == DEVICES;
	return set_value(p);
}

/* Checks options against each other. A small window lowers a credit that was not asked for. */
static int check_together(struct parse *p)
{
	if (p->conf.credit <= p->conf.window)
		return 0;
	if (p->has_credit || !p->has_window)
		return refuse(p,
			      "option channel.credit=%u: write at most channel.window, which is %u",
			      p->conf.credit, p->conf.window);
	p->conf.credit = p->conf.window;
	return 0;
}

int conf_parse(struct conf *conf, const char *text, char *why, size_t why_size)
{
	struct parse p = {.conf = *conf, .why = why, .why_size = why_size};
	char item[ITEM_MAX];
	int rc;

	while (*text) {
		size_t len;

		text += strspn(text, ", \t\n");
		len = strcspn(text, ",\n");
		if (len >= sizeof(item))
			return refuse(
				&p, "option \"%.32s...\" is too long: write at most %zu characters",
				text, sizeof(item) - 1);
		memcpy(item, text, len);
		text += len;
		while (len && strchr(" \t", item[len - 1]))
			len--;
		item[len] = '\0';
		if (!len)
			continue;
		rc = parse_item(&p, item);
		if (rc)
			return rc;
	}
	rc = check_together(&p);
	if (rc == 0)
		*conf = p.conf;
	return rc;
}

uint32_t conf_credit(const struct conf *conf, uint32_t nodes)
{
	uint32_t share = nodes ? CREDIT_OF_ALL / nodes : conf->credit;

	if (conf->is_credit_chosen || share >= conf->credit)
		return conf->credit;
	return share > CREDIT_MIN ? share : CREDIT_MIN;
}
