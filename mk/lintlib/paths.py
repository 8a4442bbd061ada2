# SPDX-License-Identifier: BSD-3-Clause
"""A rule on paths in comments and documents: one that begins with a directory of the tree names a file of it."""
import os
import re

# A path with an ending that files of the tree have. NAME and N stand for something, so such a path is an example.
PATH = re.compile(r"(?<![\w/.<>$)}*-])((?:[a-z][a-z0-9_-]*/)+[a-zA-Z0-9_.-]+\.(?:c|h|py|t|mk|md|json|toml))\b")
PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]+(?![a-z])")
# The tests of these rules, and the rules, name files that there are not.
EXAMPLES = ("mk/lintlib/", "tests/python/")
JUDGED = (".c", ".h", ".md", ".mk", ".py", ".sh", ".t")


def check(tree):
    tops = {name.split("/")[0] for name in tree.files if "/" in name}
    for name in tree.files:
        if not name.endswith(JUDGED) or name.startswith(EXAMPLES):
            continue
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            for found in PATH.finditer(line):
                path = found[1]
                if path.split("/")[0] not in tops or PLACEHOLDER.search(path) or os.path.exists(tree.path(path)):
                    continue
                yield f"{name}:{number}: no file {path}"
