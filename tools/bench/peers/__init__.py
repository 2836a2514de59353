"""Compares Espalier with the systems people use for such networks.

See __main__.py for how to run it.
"""
