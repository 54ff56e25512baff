"""Random instances from a seed: travelling salesman problems, graphs and Steiner problems."""
