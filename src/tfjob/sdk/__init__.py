"""What a Python program calls to run jobs and to look at them; the command line sits on it."""
