"""Makes `tests.oracle.…` importable, wherever pytest was started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
