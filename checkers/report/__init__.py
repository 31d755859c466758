"""The report before merge: the checklists and tables of the guide, filled in for each distributed model."""
