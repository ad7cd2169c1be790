#!/usr/bin/env python3
"""Time and memory of making a crowd from a table in Python.

usage: PYTHONPATH=build/python bench/python_table.py [rows, default 2000000]

Memory is the peak while the crowd is made, above what the process has before (Linux counts both).
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

CHILD = """
import os, sys, time, numpy, pandas, bdc
folder, kind = sys.argv[1:]
table = {name[:-4]: numpy.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}
size = sum(column.nbytes for column in table.values())
if kind == "pandas":
    table = {name: column.tolist() if column.dtype.kind == "U" else column for name, column in table.items()}
    table = pandas.DataFrame(table)
    size = int(table.memory_usage(deep=True).sum())

def memory(what):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(what))

with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # the peak so far is forgotten
before, started = memory("VmRSS"), time.perf_counter()
crowd = bdc.Crowd.from_table(table)
print(time.perf_counter() - started, memory("VmHWM") - before, size)
"""


def table(rows, texts):
    draw = np.random.default_rng(1)
    image, annotator, label = draw.integers(0, rows // 20, rows), draw.integers(0, 1000, rows), draw.integers(0, 80, rows)
    xy, size = draw.uniform(0, 500, (rows, 2)), draw.uniform(5, 100, (rows, 2))
    if texts:
        image, annotator, label = (np.char.add(prefix, column.astype("U7")) for prefix, column in
                                   (("img", image), ("w", annotator), ("class", label)))
    corners = np.hstack([xy, xy + size])
    return {"image": image, "annotator": annotator, "label": label,
            **{side: np.ascontiguousarray(corners[:, n]) for n, side in enumerate(("x1", "y1", "x2", "y2"))}}


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    print(f"{rows} rows\n{'ids':<8} {'table MB':>9} {'seconds':>8} {'memory MB':>10} {'of the table':>13}")
    for kind in ("numbers", "texts", "pandas"):
        with tempfile.TemporaryDirectory() as folder:
            for name, column in table(rows, kind != "numbers").items():
                np.save(os.path.join(folder, name + ".npy"), column)
            runs = []
            for _ in range(3):
                out = subprocess.run([sys.executable, "-c", CHILD, folder, kind], check=True, capture_output=True, text=True)
                runs.append([float(value) for value in out.stdout.split()])
            seconds, more, size = (min(values) for values in zip(*runs))
            print(f"{kind:<8} {size / 1e6:9.0f} {seconds:8.2f} {more / 1e6:10.0f} {more / size:13.2f}", flush=True)


if __name__ == "__main__":
    main()
