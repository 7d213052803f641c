"""Stages: read parameters, read files, call one function, write files.

``python -m longform.pipeline STAGE NAME ...`` is what every DVC stage runs; :mod:`longform.pipeline.repro` runs several at once.
"""
