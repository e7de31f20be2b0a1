"""Handlers of the verbs and subresources of the Kubernetes API."""
