"""The folder that `katod export --all` keeps up to date: a file for every session, and a list of what katod wrote."""
