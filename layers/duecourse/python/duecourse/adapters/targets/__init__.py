"""Callers of targets. The modules of this folder are imported one by one: a connector needs only some of them."""
