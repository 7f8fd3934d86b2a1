"""Why a line is there: which edit of which session last wrote it, found by playing recorded edits forward."""
