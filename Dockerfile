# The worker's image: the package with the extras that production needs, at the locked versions.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements-uv.lock requirements.lock ./
RUN python -m venv /opt/mnemolog \
    && /opt/mnemolog/bin/pip install --no-cache-dir --require-hashes -r requirements-uv.lock \
    && /opt/mnemolog/bin/uv pip sync --python /opt/mnemolog/bin/python --require-hashes requirements.lock
COPY . .
RUN /opt/mnemolog/bin/uv pip install --python /opt/mnemolog/bin/python --no-deps --no-build-isolation .

FROM python:3.11-slim-bookworm
COPY --from=build /opt/mnemolog /opt/mnemolog
ENV PATH=/opt/mnemolog/bin:$PATH
RUN useradd --create-home mnemolog
USER mnemolog
ENTRYPOINT ["mnemolog"]
