"""What to do for a job: (job, children, now) -> Plan. No IO, no clock, no knowledge of any API."""
