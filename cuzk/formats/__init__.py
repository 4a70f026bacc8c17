"""File formats: C1, parameters, verifying keys, shape cache, explicit circuits."""
