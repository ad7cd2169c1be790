#!/usr/bin/env python3
"""docs/architecture.md says of every room what cmake/rooms.txt says.

usage: architecture_test.py ROOT    the project's root
"""
import os
import re
import sys
import unittest

ROOT = os.path.abspath(sys.argv.pop(1))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows_of_table():
    """name -> (folder, rooms it may use, packages)."""
    rows = {}
    for line in read("cmake/rooms.txt").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, folders, uses, packages = (column.strip() for column in line.split("|"))
        rows[name] = (folders.split()[0], uses.split(), packages.split())
    return rows


def rows_of_document():
    rows = {}
    for line in read("docs/architecture.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 6:
            name, folder, _, uses, packages, _ = cells
            rows[name.strip("`")] = (folder.strip("`"), uses.strip("-").split(), packages.strip("-").split())
    return rows


def is_detector(row):
    return os.path.exists(os.path.join(ROOT, row[0], "plugin.cpp"))


class Architecture(unittest.TestCase):
    def test_it_describes_the_rooms_of_the_table_in_their_order(self):
        document = rows_of_document()
        described = [name for name, row in rows_of_table().items() if name in document or not is_detector(row)]
        self.assertEqual(list(document), described)

    def test_it_says_where_they_are_and_what_they_may_use(self):
        table = rows_of_table()
        for name, row in rows_of_document().items():
            with self.subTest(room=name):
                self.assertEqual(row, table.get(name))

    def test_the_files_that_it_names_exist(self):
        for path in re.findall(r"`([a-z_]+/[A-Za-z0-9_./]+\.[a-z]+)`", read("docs/architecture.md")):
            with self.subTest(path=path):
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path + " does not exist")


if __name__ == "__main__":
    unittest.main()
