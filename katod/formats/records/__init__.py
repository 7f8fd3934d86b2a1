"""Records for other systems: what was said and changed, in the form of IETF drafts."""
