# `docker build -t longform .`, then `docker run longform make repro` or `make test` (docs/dependencies.md).
FROM python:3.11-slim AS machine
RUN apt-get update && apt-get install -y --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 researcher
USER researcher
WORKDIR /home/researcher/longform
# CPU wheels of torch, a tenth of the size; --build-arg TORCH_INDEX= takes those of PyPI, with CUDA
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_EXTRA_INDEX_URL=$TORCH_INDEX

FROM machine AS study
# The environment is a layer of its own: an edit of the source does not install it again.
COPY --chown=researcher Makefile pyproject.toml requirements.txt README.md LICENSE ./
COPY --chown=researcher src/longform/__init__.py src/longform/__init__.py
RUN make setup
COPY --chown=researcher . .
ENV PATH=/home/researcher/longform/.venv/bin:$PATH
CMD ["bash"]
