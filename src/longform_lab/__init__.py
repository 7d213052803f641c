"""Stages: read parameters, read files, call one function, write files.

``python -m longform_lab STAGE NAME ...`` is what every DVC stage runs; :mod:`longform_lab.repro`
runs several at once.
"""
