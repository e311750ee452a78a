# evenkey with Spark, a Java and the Kafka connector; `docker compose run evenkey ...` runs it.
FROM maven:3.9.9-eclipse-temurin-17 AS jars
COPY connectors/pom.xml /connectors/pom.xml
RUN mvn --batch-mode --quiet --file /connectors/pom.xml --activate-profiles connector \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/jars

FROM python:3.11.11-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY --from=jars /jars /opt/evenkey/jars
COPY pyproject.toml requirements.lock README.md LICENSE /opt/evenkey/source/
COPY src /opt/evenkey/source/src
RUN pip install --no-cache-dir --constraint /opt/evenkey/source/requirements.lock \
    "/opt/evenkey/source[cli,kafka,influxdb,prometheus]"
ENV EVENKEY_KAFKA_JARS=/opt/evenkey/jars
WORKDIR /runs
ENTRYPOINT ["evenkey"]
