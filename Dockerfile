# evenkey with Spark, a Java and the Kafka connector; `docker compose run evenkey ...` runs it.
# `make image-check` does the same steps without docker.
FROM maven:3.9.9-eclipse-temurin-17 AS jars
COPY connectors/pom.xml /connectors/pom.xml
RUN mvn --batch-mode --quiet --file /connectors/pom.xml --activate-profiles connector \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/jars

FROM python:3.11.11-slim-bookworm
COPY --from=jars /jars /opt/evenkey/jars
COPY pyproject.toml README.md LICENSE tools/image/requirements.lock tools/image/install.sh /opt/evenkey/source/
COPY src /opt/evenkey/source/src
RUN sh /opt/evenkey/source/install.sh /opt/evenkey/source
ENV EVENKEY_KAFKA_JARS=/opt/evenkey/jars
WORKDIR /runs
ENTRYPOINT ["evenkey"]
