"""Trajectories: the Agent Trajectory Interchange Format."""
