# fails.py COMMAND...: the command must report an error the way all tools do:
# exit code 1, a message on standard error, nothing on standard output, no file
# left behind. OUT in the command is an empty folder. Prints the message.

import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    command = [part.replace("OUT", folder) for part in sys.argv[1:]]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stderr.replace(folder, "OUT"), end="")
    if done.returncode != 1:
        sys.exit(f"fails.py: exit code {done.returncode}, expected 1")
    if done.stdout:
        sys.exit(f"fails.py: wrote to standard output: {done.stdout}")
    left = os.listdir(folder)
    if left:
        sys.exit(f"fails.py: left behind: {left}")
