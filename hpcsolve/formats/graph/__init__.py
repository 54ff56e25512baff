"""Formats of graphs, and of what goes with a graph: coordinates, terminals, queries, a Steiner tree."""
