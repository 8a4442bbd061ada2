// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/messages.h"

#include <string.h>

#include "scheduler/proto/ops.h"

#define LINK(...)
#define MESSAGE(name, text, ...) const char OP_##name[] = text;
#define ALSO(...)
#include "scheduler/proto/messages.def"
#undef MESSAGE
#undef ALSO

#define MESSAGE(name, ...) [ON_##name] = OP_##name,
#define ALSO(...)
static const char *const ops[MESSAGES_OPS] = {
#include "scheduler/proto/messages.def"
};
#undef MESSAGE
#undef ALSO

#define FIELD(key, kind, meaning, ...) {.name = key, .type = MESSAGES_##kind, ##__VA_ARGS__},
#define OPTIONAL(key, kind, meaning, ...)                                                          \
	{.name = key, .type = MESSAGES_##kind, .is_optional = true, ##__VA_ARGS__},
#define RANGE(least, most) .has_range = true, .min = least, .max = most
#define WORDS(...)                                                                                 \
	.words = (const char *const[])                                                             \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}
#define MESSAGE(name, text, ...) ALSO(name, __VA_ARGS__)
#define ALSO(name, way, sentence, ...)                                                             \
	{.op = ON_##name,                                                                          \
	 .link = MESSAGES_##way,                                                                   \
	 .fields = (const struct messages_field[]){__VA_ARGS__{0}}},
static const struct messages_entry entries[] = {
#include "scheduler/proto/messages.def"
};
#undef LINK
#undef MESSAGE
#undef ALSO

#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

const struct messages_entry *messages_entries(size_t *ret_n)
{
	*ret_n = N_ENTRIES;
	return entries;
}

const char *messages_op_text(enum messages_op op)
{
	return ops[op];
}

const struct messages_entry *messages_find(enum messages_link link, const char *op)
{
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (entries[i].link == link && !strcmp(ops[entries[i].op], op))
			return &entries[i];
	return NULL;
}
