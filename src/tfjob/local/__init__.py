"""A small cluster on one machine: an API server, the operator, and a node that runs processes."""
