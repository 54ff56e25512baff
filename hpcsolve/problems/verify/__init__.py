"""Full checks of answers, in plain numpy and scipy: distances, paths, lower bounds on trees."""
