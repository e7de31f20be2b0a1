"""The command `tfjob`: one file per verb. Parses, calls, prints; decides nothing."""
