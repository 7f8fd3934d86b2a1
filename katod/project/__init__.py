"""What a project's own `.katod.toml` may change, once the person has allowed it."""
