"""Kubernetes' own words as data. No IO, no clock, nothing about jobs."""
