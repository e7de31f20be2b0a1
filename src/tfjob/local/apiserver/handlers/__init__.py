"""One verb of the Kubernetes API per file."""
