"""One file per API: decode, default, validate, encode status, CRD schema."""
