"""The cost of Duecourse in dollars, from measured counts and dated prices, in comparison with other schedulers."""
