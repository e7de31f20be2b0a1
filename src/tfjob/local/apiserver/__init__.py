"""A small Kubernetes API server over loopback, with SQLite underneath. It knows no job of ours."""
