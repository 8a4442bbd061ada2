/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops - the names of all messages, OP_SUBMIT..., from messages.def, which tells their fields and
 * who sends them to whom. docs/protocol.md is the same for reading.
 */
#ifndef SCHEDULER_PROTO_OPS_H
#define SCHEDULER_PROTO_OPS_H

#define LINK(...)
#define MESSAGE(name, ...) extern const char OP_##name[];
#define ALSO(...)
#include "scheduler/proto/messages.def"
#undef LINK
#undef MESSAGE
#undef ALSO

/*
 * Exit code of a scremote whose connection ended before its commands did: nothing of them shall be
 * left.
 */
#define REMOTE_EXIT_CUT 3

#endif
