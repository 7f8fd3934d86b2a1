"""Finds secrets, and replaces them."""
