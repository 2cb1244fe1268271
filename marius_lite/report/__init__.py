"""Show runs: one HTML page with curves, the plan, the quality and the settings; traces of what was done when."""
