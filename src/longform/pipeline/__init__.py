"""The six verbs: read one row of parameters, read files, call one function, write files.

``python -m longform.pipeline VERB ROW --home FOLDER`` is what every DVC stage runs. A stage is handed its
own row and the seed and nothing else, so it cannot read a parameter that DVC does not know it depends on.
"""
