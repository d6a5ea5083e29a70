"""The worker: receives a message, decides about its run, starts the attempt, calls the target, records the end and
performs the side effects, or requeues the message.
"""
