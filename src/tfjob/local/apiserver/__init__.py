"""A small Kubernetes API server on loopback, backed by SQLite. Knows nothing of TFJobs."""
