"""Random instances from a seed: cities, graphs, graphs with terminals."""
