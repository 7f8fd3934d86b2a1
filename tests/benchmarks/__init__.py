"""How fast katod is and what it needs: `python -m tests.benchmarks` measures it and marks what misses its bar."""
