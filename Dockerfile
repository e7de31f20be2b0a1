# The operator's image: docker build -t tfjob:0.1.0 .
# Any image with Python 3.11 or newer and pip works; use a digest to pin it.
ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /source
COPY requirements/build.txt requirements/runtime.txt requirements/
# Installs only packages whose hashes are in the lock files.
RUN python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --require-hashes -r requirements/build.txt \
 && python -m venv /opt/tfjob \
 && /opt/tfjob/bin/python -m pip install --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/build/bin/python -m hatchling build -t wheel -d /wheels \
 && /opt/tfjob/bin/python -m pip install --no-index --no-deps /wheels/*.whl \
 && /opt/tfjob/bin/tfjob --version

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/tfjob /opt/tfjob
# The root file system is read-only at run time, and pip has compiled the bytecode already.
ENV PATH=/opt/tfjob/bin:${PATH} PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A numeric user, so that the kubelet can verify that it is not root.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["tfjob", "operator"]
