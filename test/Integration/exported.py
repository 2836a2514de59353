# exported.py LIBRARY: the dynamic symbols that it defines, sorted, each with its
# kind and binding.

import subprocess
import sys

command = ["readelf", "-W", "--dyn-syms", sys.argv[1]]
lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
rows = [line.split() for line in lines.splitlines()]
rows = [row for row in rows if len(row) == 8 and row[0].rstrip(":").isdigit()]
for name, kind, bind in sorted((r[7], r[3], r[4]) for r in rows if r[6] != "UND"):
    print(name, kind, bind)
