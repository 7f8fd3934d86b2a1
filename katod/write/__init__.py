"""The one place that writes to the person's files: opens safely, appends all, syncs."""
