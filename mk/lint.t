#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The lint rules as a TAP program, one test per rule.
exec mk/lint --tap --build "${PM_BUILD:-build}"
