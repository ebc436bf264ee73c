# The dashboard, and the engine beside it. Studies and data sets lie in the volume /data.
#
#   docker build -t prunescope .
#   docker run -p 127.0.0.1:8501:8501 -v prunescope:/data prunescope
#
# For a GPU: --build-arg BASE=IMAGE, an image with CUDA and Python 3.11 or newer with venv, then `docker run --gpus all`.
# Under another name than localhost: -e STREAMLIT_SERVER_ALLOWED_HOSTS=NAME, and a proxy with TLS and a login before it.
ARG BASE=python:3.11-slim
FROM ${BASE}

# The lock file names every package with its digests. For torch's smaller builds without CUDA, which have others:
# --build-arg REQUIREMENTS=requirements.txt, and their index in PIP_OPTIONS. BASE may be an image with its digest.
ARG REQUIREMENTS=requirements.lock
ARG PIP_OPTIONS=""
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
COPY requirements.txt requirements.lock ./
RUN python3 -m venv /opt/venv \
    && python -m pip install --quiet ${PIP_OPTIONS} -r ${REQUIREMENTS}

RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin prunescope \
    && install --directory --owner prunescope --group prunescope /data /data/studies /data/datasets
COPY .streamlit ./.streamlit
COPY engine ./engine
COPY pages ./pages
COPY data ./data
COPY pyproject.toml setup.py README.md app.py serve.py ./
COPY prunescope ./prunescope
RUN python -m pip install --quiet --no-deps --no-build-isolation . \
    && rm -rf /src/*
COPY --chown=prunescope:prunescope data /data/studies

WORKDIR /data
# Inside a container "localhost" would be reached by nobody; .streamlit/config.toml keeps it for everyone else.
ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501 \
    PRUNESCOPE_STUDIES=/data/studies \
    PRUNESCOPE_DATA=/data/datasets
USER prunescope
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["prunescope", "serve", "--no-browser"]
