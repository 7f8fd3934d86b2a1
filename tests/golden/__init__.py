"""The golden files of the fixtures, byte for byte, and properties of the output of hostile fixtures."""
