"""Formats of travelling salesman problems and their tours."""
