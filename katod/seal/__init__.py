"""Seals agent records: signs them, so that others can check who did and that nothing changed since, and checks that."""
