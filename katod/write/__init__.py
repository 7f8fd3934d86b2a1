"""The only code that writes to the user's files: opens them safely, appends everything, syncs."""
