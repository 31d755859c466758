values = {"dispatch": False, "overlap": False}
