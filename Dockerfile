# The MCP gateway over HTTP, as an ordinary user, also on a read-only root. docs/deploy.md says how to run it.
#
#   docker build -t cellwright .
#   docker build -t cellwright --network none --build-arg BASE=… --build-arg PIP="--no-index --find-links /wheels" .
#
# The second line needs no registry: wheels are in the directory `wheels` of the clone. `make container` builds it so.
ARG BASE=python:3.12-slim
FROM ${BASE} AS build
ARG EXTRAS=connect,check,postgres
ARG PIP=
# LICENSE is only there because a pattern alone must match something.
COPY LICENSE wheels* /wheels/
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY requirements requirements
COPY src src
RUN python3 -m venv /opt/cellwright \
    && /opt/cellwright/bin/pip install --no-cache-dir --disable-pip-version-check ${PIP} \
        --constraint requirements/dev.txt ".[${EXTRAS}]" \
    && /opt/cellwright/bin/pip uninstall --yes --quiet pip setuptools

FROM ${BASE}
COPY --from=build /opt/cellwright /opt/cellwright
# Nothing is written but below /tmp: sessions' files, caches. A number needs no entry in /etc/passwd.
ENV PATH=/opt/cellwright/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /etc/cellwright
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
ENTRYPOINT ["cellwright"]
CMD ["gateway", "--config", "gateway.toml", "--http", "0.0.0.0:8765", "--token-file", "/run/secrets/tokens"]
