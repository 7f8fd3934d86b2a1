"""katod's speed and resource usage: `python -m tests.benchmarks` measures them and marks missed bars."""
