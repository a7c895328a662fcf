"""Logs in and out of files: all records as they are, or what other libraries exported."""
