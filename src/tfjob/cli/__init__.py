"""The command `tfjob`: one module per command, which parses its arguments, calls other packages
and prints the result."""
