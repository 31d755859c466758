"""Rules that a project keeps for itself: files that its settings name."""
