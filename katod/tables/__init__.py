"""Sessions as tables for query engines: a data set in Parquet, in a directory or a bucket, updated by each run."""
