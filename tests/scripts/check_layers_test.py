#!/usr/bin/env python3
"""scripts/check_layers passes on the project, and fails, naming the place, when a forbidden include is added to any room.

usage: check_layers_test.py ROOT    the project's root
The rooms come from cmake/rooms.txt, so a new one is tested without an edit here.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1))
COPIED = ["bdc_core", "plugin_api", "plugins", "host", "python", "cmake"]
SOURCES = (".h", ".cpp")
# Folders that includes are relative to.
ROOTS = ["bdc_core/include/", "bdc_core/src/", "plugin_api/include/", "plugins/", "host/src/", "python/src/"]
# A header of every package that the table can allow.
PACKAGE_HEADERS = {
    "torch": "torch/nn.h",
    "opencv": "opencv2/core.hpp",
    "json": "nlohmann/json.hpp",
    "pugixml": "pugixml.hpp",
    "boost": "boost/dll/shared_library.hpp",
    "cli": "CLI/CLI.hpp",
    "vision": "torchvision/ops/nms.h",
    "yaml": "yaml-cpp/yaml.h",
    "zip": "zip.h",
    "pybind": "pybind11/pybind11.h",
}


def read_rooms():
    rooms = {}  # name -> (folders, rooms it may use, packages)
    with open(os.path.join(ROOT, "cmake/rooms.txt"), encoding="utf-8") as table:
        for line in table:
            if line.startswith("#") or not line.strip():
                continue
            name, folders, uses, packages = (column.strip() for column in line.split("|"))
            rooms[name] = (folders.split(), uses.split(), packages.split())
    return rooms


ROOMS = read_rooms()


def first_file(room, endings):
    """A file of the room, or None; as a path from the root."""
    for folder in ROOMS[room][0]:
        for place, folders, files in os.walk(os.path.join(ROOT, folder)):
            folders.sort()
            for file in sorted(files):
                if file.endswith(endings):
                    return os.path.relpath(os.path.join(place, file), ROOT)
    return None


def include_name(path):
    for root in ROOTS:
        if path.startswith(root):
            return path[len(root):]
    raise AssertionError(f"{path} is below none of {ROOTS}")


class CheckLayers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="bdc_layers_")
        for name in COPIED:
            shutil.copytree(os.path.join(ROOT, name), os.path.join(cls.folder, name))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check(self):
        """Exit code and what was printed."""
        script = os.path.join(ROOT, "scripts/check_layers")
        done = subprocess.run([sys.executable, script, self.folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def check_with(self, added):
        """The same after texts were added to files, which are made where they are missing; afterwards all is as before.
        added: path -> text."""
        before = {}
        for path, text in added.items():
            place = os.path.join(self.folder, path)
            before[place] = None
            if os.path.exists(place):
                with open(place, encoding="utf-8") as file:
                    before[place] = file.read()
            with open(place, "w", encoding="utf-8") as file:
                file.write((before[place] or "") + text)
        try:
            return self.check()
        finally:
            for place, text in before.items():
                if text is None:
                    os.remove(place)
                else:
                    with open(place, "w", encoding="utf-8") as file:
                        file.write(text)

    def last_line(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            return len(file.read().splitlines())

    def expect_refused(self, added):
        """added: path -> (line to add, what must be said of it)."""
        code, out = self.check_with({path: line + "\n" for path, (line, _) in added.items()})
        self.assertEqual(code, 1, out)
        for path, (_, said) in added.items():
            self.assertIn(f"{path}:{self.last_line(path) + 1}: {said}", out)

    def test_the_project_as_it_is_passes(self):
        code, out = self.check()
        self.assertEqual((code, out), (0, "layers: ok\n"))

    def test_every_room_has_files(self):
        for room in ROOMS:
            self.assertIsNotNone(first_file(room, SOURCES), f"{room} is empty")

    def test_a_room_that_the_row_does_not_name(self):
        headers = {room: first_file(room, (".h",)) for room in ROOMS}
        for room, (_, uses, _) in ROOMS.items():
            with self.subTest(room=room):
                forbidden = [other for other in ROOMS if other != room and other not in uses and headers[other]]
                self.assertTrue(forbidden, f"{room} may use every room")
                other = forbidden[-1]
                self.expect_refused({first_file(room, SOURCES): (f'#include "{include_name(headers[other])}"',
                                                                 f"{room} must not include {other} (")})

    def test_a_package_that_the_row_does_not_name(self):
        added = {}
        for room, (_, _, packages) in ROOMS.items():
            allowed = set(packages) | ({"torch"} if "vision" in packages else set())
            forbidden = [package for package in PACKAGE_HEADERS if package not in allowed]
            self.assertTrue(forbidden, f"{room} may use every package")
            header = PACKAGE_HEADERS[forbidden[0]]
            added[first_file(room, SOURCES)] = (f"#include <{header}>", f"{room} must not know {forbidden[0]} ({header})")
        self.expect_refused(added)

    def test_a_file_that_is_not_there(self):
        line = '#include "no/such_header.h"'
        said = '"no/such_header.h" is not a file of the project'
        self.expect_refused({first_file(room, SOURCES): (line, said) for room in ROOMS})

    def test_a_source_file_in_no_room(self):
        code, out = self.check_with({"host/src/stray.cpp": "int stray();\n"})
        self.assertEqual(code, 1, out)
        self.assertIn("host/src/stray.cpp: stands in no room of cmake/rooms.txt", out)

    def test_ways_around_the_check(self):
        folder = ROOMS["base"][0][0]
        for path, text, said in (
                (f"{folder}/other.hpp", "#include <torch/nn.h>\n", f"{folder}/other.hpp: sources end in .h or .cpp"),
                (f"{folder}/other.cc", "", f"{folder}/other.cc: sources end in .h or .cpp"),
                (f"{folder}/aa.h", "/* why */ #include <torch/nn.h>\n", "base must not know torch"),
                (f"{folder}/aa.h", "#include <torchvision/ops/nms.h>\n", "base must not know vision"),
                (f"{folder}/aa.h", "#include SOME_HEADER\n", f"{folder}/aa.h:1: expected a file's name"),
                (f"{folder}/aa.h", "/* over\ntwo lines */ #include <torch/nn.h>\n", "aa.h:2: base must not know torch"),
                (f"{folder}/aa.h", "# /* why */ include <torch/nn.h>\n", "base must not know torch"),
                (f"{folder}/aa.h", "#include_next <torch/nn.h>\n", "base must not know torch"),
                (f"{folder}/aa.h", "#import <torch/nn.h>\n", "base must not know torch"),
                (f"{folder}/aa.h", "%:include <torch/nn.h>\n", "base must not know torch"),
                (f"{folder}/aa.h", "#include <sqlite3.h>\n", "sqlite3.h is of no package"),
                (f"{folder}/aa.h", "#include <Eigen/Dense>\n", "Eigen/Dense is of no package")):
            with self.subTest(text=text, path=path):
                code, out = self.check_with({path: text})
                self.assertEqual(code, 1, out)
                self.assertIn(said, out)

    def test_an_include_in_a_comment_or_a_text_is_none(self):
        folder = ROOMS["base"][0][0]
        code, out = self.check_with({f"{folder}/aa.h": '// "\n/*\n#include <torch/nn.h>\n*/\nconst char* const a = "/*";\n'})
        self.assertEqual((code, out), (0, "layers: ok\n"))

    def test_a_circle_within_a_room(self):
        folder = next(iter(ROOMS.values()))[0][0]
        code, out = self.check_with({f"{folder}/aa.h": '#include "bb.h"\n', f"{folder}/bb.h": '#include "aa.h"\n'})
        self.assertEqual(code, 1, out)
        self.assertIn("these files include each other in a circle: ", out)
        self.assertRegex(out, r"\baa -> (\S*/)?bb -> (\S*/)?aa\b")

    def test_a_row_that_names_a_room_below_it(self):
        path = os.path.join(self.folder, "cmake/rooms.txt")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        first = next(iter(ROOMS))
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"early | host/src/early | {first} |\n" + before)
            code, out = self.check()
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
        self.assertEqual(code, 1, out)
        self.assertIn(f"early may use only rooms above it, and {first} is none of them", out)


if __name__ == "__main__":
    unittest.main()
