"""The OpenAPI document that the API serves. scripts/openapi generates it before a layer or a wheel is built."""
