"""The cost of executing a run: client CPU, requests and capacity, in comparison with the textbook worker."""
