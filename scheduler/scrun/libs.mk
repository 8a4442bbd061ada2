# SPDX-License-Identifier: BSD-3-Clause
scrun_NEEDS := jansson ev.h munge.h libsodium
