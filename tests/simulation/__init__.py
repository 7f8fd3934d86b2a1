"""katod and everything around it in one process, drawn from one seed: what happens is a plan that can be played again.

`python -m tests.simulation --seed N --steps M` plays many plans, makes one that fails as short as it can, and prints how
to play it again.
"""
