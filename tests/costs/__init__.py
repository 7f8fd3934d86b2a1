"""What katod does for each event and each command, counted: a gate for costs that are too small to be timed."""
