"""Sessions as tables for engines: a data set in Parquet, in a directory or a bucket, that a run brings up to date."""
