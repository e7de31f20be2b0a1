"""The Python API to run and inspect jobs. The command line is built on it."""
