"""Records for others: what was said and changed, as the drafts of the IETF have it."""
