"""What dispatching costs: client CPU, requests and capacity, beside the textbook loop."""
