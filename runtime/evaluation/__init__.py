"""How good forecasts are, and what they look like."""
