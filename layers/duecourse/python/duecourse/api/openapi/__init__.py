"""The OpenAPI document. `python -m duecourse.api.openapi` generates it and stores it in this folder, and the API serves
this file unchanged.

The API imports only `served`. The other modules are for the generator and for tests.
"""
