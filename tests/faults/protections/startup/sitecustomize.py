"""Runs at the start of each Python that a test starts, and removes the protection that the environment names.

`protections` is not imported from `tests`, because that would load pytest, and some tests measure time and memory.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from protections import hook, named

del sys.path[0]
protection = named(os.environ[hook.VARIABLE])
hook.install(protection.function, protection.without)
