"""Memory for agents and frameworks that speak other interfaces. Each stands on the facade alone."""
