"""The OpenAPI document: made by `python -m duecourse.api.openapi`, kept beside this file, served as it lies there.

Only `served` is imported by the API; everything else of this package is for making the document and for tests.
"""
