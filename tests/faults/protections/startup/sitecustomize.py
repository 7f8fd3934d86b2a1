"""Run by each Python that a test starts: its katod lacks the protection that the environment names.

The lists are not imported as a part of `tests`, which would load pytest: some tests measure time and memory.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from protections import hook, named

del sys.path[0]
protection = named(os.environ[hook.VARIABLE])
hook.install(protection.function, protection.without)
