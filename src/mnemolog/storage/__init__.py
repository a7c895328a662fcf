"""Where views are kept: LanceDB tables, one shard a partition, in generations behind a pointer."""
