# Gossamer in a container: `docker build -t gossamer .`; docs/deploy.md says how to run it.
#
# As ./run does it: the versions of the lock file, each checked by its hash, and our own files beside them. Nothing is
# built, so nothing is fetched that the lock file does not name.
FROM python:3.11-slim-bookworm

COPY requirements.lock /opt/gossamer/
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --require-hashes \
        -r /opt/gossamer/requirements.lock
COPY gossamer /opt/gossamer/gossamer
RUN /opt/venv/bin/python -m compileall -q /opt/gossamer/gossamer \
    && useradd --uid 1000 --create-home gossamer \
    && mkdir /crawls && chown gossamer /crawls

ENV PYTHONPATH=/opt/gossamer
USER gossamer
WORKDIR /crawls
VOLUME /crawls
# Stopping the container sends SIGTERM: what is in flight is finished, and the same command goes on later.
ENTRYPOINT ["/opt/venv/bin/python", "-P", "-m", "gossamer"]
CMD ["--help"]
