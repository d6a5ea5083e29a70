"""What Duecourse costs in dollars, from counts that were measured and prices with a date, beside other schedulers."""
