"""The worker: receive a message, decide about its run, start, call, finish, do the side effects; or requeue it."""
