"""One folder per job API: decoding, defaults, validation, status and CRD."""
