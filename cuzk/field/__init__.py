"""Prime fields and towers of BLS12-381: parameters, layouts and arithmetic."""
