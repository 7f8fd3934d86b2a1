"""What `katod setup` adds to the agents' own files, and how it is removed again."""
