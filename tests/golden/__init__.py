"""What katod makes of the fixtures, byte for byte; and what it must never make of hostile ones."""
