"""The cost of dispatching: client CPU, requests and capacity, in comparison with the textbook loop."""
