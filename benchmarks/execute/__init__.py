"""What executing a run costs: client CPU, requests and capacity, beside the textbook worker."""
