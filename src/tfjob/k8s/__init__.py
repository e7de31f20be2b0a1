"""Kubernetes types and rules as plain data. No IO, no clock, nothing about TFJobs."""
