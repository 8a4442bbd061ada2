# SPDX-License-Identifier: BSD-3-Clause
# The only place that knows the version. SOVERSION changes when a symbol of libpm.map is removed
# or changes its meaning; SOMINOR when one is added.
VERSION   := 0.1.0
SOVERSION := 0
SOMINOR   := 1
