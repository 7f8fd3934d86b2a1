"""The session index: which sessions are served, and what is known of each."""
