"""Reconciles jobs: reads a snapshot, and carries out the plan of the core with API calls."""
