"""`pip install --no-build-isolation .` in a fresh virtual environment, without a network, from a copy of the source."""
import os
import subprocess
import sys
import tempfile
import unittest

LINES = """
import sys, bdc
result = bdc.aggregate({"image": ["a", "a"], "annotator": ["ann", "bob"], "label": ["cat", "cat"],
                        "x1": [1, 2], "y1": [1, 2], "x2": [30, 31], "y2": [30, 31]})
assert len(result) == 1 and "torch" not in sys.modules, sys.modules
print(bdc.__file__, bdc.__version__)
"""


class Pip(unittest.TestCase):
    def test_installs_and_works(self):
        with tempfile.TemporaryDirectory() as folder:
            source, place = os.path.join(folder, "source"), os.path.join(folder, "venv")
            files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                   check=True, capture_output=True).stdout
            os.mkdir(source)
            subprocess.run(["sh", "-c", 'tar --create --null --files-from - | tar --extract --directory "$0"', source],
                           input=files, check=True)
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", place], check=True)
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            environment.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
            run = subprocess.run([os.path.join(place, "bin/pip"), "install", "--no-build-isolation", "."], cwd=source,
                                 env=environment, capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stdout[-3000:] + run.stderr[-3000:])
            run = subprocess.run([os.path.join(place, "bin/python"), "-c", LINES], cwd=folder, env=environment,
                                 capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(place, run.stdout)


if __name__ == "__main__":
    unittest.main()
