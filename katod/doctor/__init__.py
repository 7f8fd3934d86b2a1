"""What is wrong, and what to do about it: one module for each area; none changes anything."""
