"""What happened to a job: the cause of a failure or a wait, and what only followed from it."""
