"""A node of one machine: pods as processes. It knows Kubernetes, not what runs on it."""
