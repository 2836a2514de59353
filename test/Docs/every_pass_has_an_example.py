# Every pass of a Passes.td has a file here, so that its example is checked.
#
# Usage: every_pass_has_an_example.py SOURCE-FOLDER

import glob
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
missing = []
for td in glob.glob(sys.argv[1] + "/include/espalier/**/Passes.td", recursive=True):
    for name in re.findall(r'^def \w+ : Pass<"([^"]+)"', open(td).read(), flags=re.M):
        if not os.path.exists(os.path.join(here, name + ".mlir")):
            missing.append(f"{td}: test/Docs/{name}.mlir is missing; see {here}")
sys.exit("\n".join(missing) or 0)
