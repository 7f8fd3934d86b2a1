"""What a project's own `.katod.toml` may change, once the user has allowed it."""
