"""The operator process. Only here tasks start, flags are read and ports are opened."""
