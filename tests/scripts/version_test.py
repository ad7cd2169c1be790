#!/usr/bin/env python3
"""The project's version is that of the newest section of the changelog.

usage: version_test.py ROOT    the project's root
"""
import os
import re
import sys
import unittest

ROOT = os.path.abspath(sys.argv.pop(1))


def first(path, pattern):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return re.search(pattern, text.read(), re.MULTILINE).group(1)


class Version(unittest.TestCase):
    def test_the_program_and_the_changelog_agree(self):
        self.assertEqual(first("CMakeLists.txt", r"^project\(bdc VERSION ([0-9.]+)"), first("CHANGELOG.md", r"^## ([0-9.]+)"))

    def test_every_section_has_its_date(self):
        with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as text:
            headings = re.findall(r"^## (.*)$", text.read(), re.MULTILINE)
        for heading in headings[:-1]:  # the first version had none
            self.assertRegex(heading, r"^[0-9]+\.[0-9]+\.[0-9]+ \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$")


if __name__ == "__main__":
    unittest.main()
